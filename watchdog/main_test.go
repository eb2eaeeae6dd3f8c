package watchdog_test

import (
	"flag"
	"testing"

	"github.com/redlatch/redlatch/internal/redistest"
)

// These tests wait for leases to end, far longer than they work: more of them go side by
// side than there are processors.
func TestMain(m *testing.M) {
	flag.Parse()
	flag.Set("test.parallel", "6")
	redistest.Main(m)
}
