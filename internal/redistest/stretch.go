package redistest

import (
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
