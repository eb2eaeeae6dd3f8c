package script_test

import (
	"flag"
	"os"
	"strconv"
	"testing"

	"github.com/redlatch/redlatch/internal/redistest"
)

func TestMain(m *testing.M) {
	flag.Parse()
	stretch()
	redistest.Main(m)
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
