package script_test

import (
	"flag"
	"testing"

	"github.com/redlatch/redlatch/internal/redistest"
)

func TestMain(m *testing.M) {
	flag.Parse()
	redistest.StretchRapid()
	redistest.Main(m)
}
