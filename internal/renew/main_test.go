package renew_test

import (
	"flag"
	"testing"

	"go.uber.org/goleak"

	"github.com/redlatch/redlatch/internal/redistest"
)

func TestMain(m *testing.M) {
	flag.Parse()
	redistest.StretchRapid()
	goleak.VerifyTestMain(m)
}
