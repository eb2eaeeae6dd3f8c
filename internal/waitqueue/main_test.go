package waitqueue_test

import (
	"flag"
	"os"
	"strconv"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	flag.Parse()
	stretch()
	goleak.VerifyTestMain(m)
}

// stretch has the random tests run REDLATCH_STRETCH times their number of rounds.
// They print the seed of a round that fails, and leave no file behind.
func stretch() {
	if times, err := strconv.Atoi(os.Getenv("REDLATCH_STRETCH")); err == nil && times > 1 {
		rounds := flag.Lookup("rapid.checks").Value.(flag.Getter).Get().(int)
		flag.Set("rapid.checks", strconv.Itoa(times*rounds))
	}
	flag.Set("rapid.nofailfile", "true")
}
