package script_test

import (
	"testing"

	"github.com/redlatch/redlatch/internal/random"
	"github.com/redlatch/redlatch/internal/redistest"
)

// The pauses between repetitions have no jitter here: the tests name each moment.
func TestMain(m *testing.M) {
	random.Replace(func(uint64) uint64 { return 0 })
	redistest.Main(m)
}
