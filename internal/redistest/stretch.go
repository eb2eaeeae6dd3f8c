package redistest

import (
	"flag"
	"os"
	"strconv"
)

// Stretch is the number of rounds of a random test: REDLATCH_STRETCH times its usual number if
// that variable of the environment is set.
func Stretch(rounds int) int {
	if times, err := strconv.Atoi(os.Getenv("REDLATCH_STRETCH")); err == nil && times > 1 {
		return times * rounds
	}
	return rounds
}

// StretchRapid does that for all tests that use rapid. They print the seed of a round that fails,
// and leave no file behind. Call it in TestMain, before the tests run.
func StretchRapid() {
	flag.Parse()
	rounds := flag.Lookup("rapid.checks").Value.(flag.Getter).Get().(int)
	flag.Set("rapid.checks", strconv.Itoa(Stretch(rounds)))
	flag.Set("rapid.nofailfile", "true")
}
