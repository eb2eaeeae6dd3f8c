package redistest

import (
	"flag"
	"os"
	"strconv"
)

// Stretch is how many times their usual length random tests run. Default: 1. The environment
// variable REDLATCH_STRETCH sets it.
func Stretch() int {
	times, err := strconv.Atoi(os.Getenv("REDLATCH_STRETCH"))
	if err != nil {
		return 1
	}
	return max(times, 1)
}

// StretchRapid has the tests of rapid run Stretch times their number of rounds. They print the seed
// of a round that fails, and leave no file behind. Call it after flag.Parse.
func StretchRapid() {
	rounds := flag.Lookup("rapid.checks").Value.(flag.Getter).Get().(int)
	flag.Set("rapid.checks", strconv.Itoa(Stretch()*rounds))
	flag.Set("rapid.nofailfile", "true")
}
