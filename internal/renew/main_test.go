package renew_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/redlatch/redlatch/internal/redistest"
)

func TestMain(m *testing.M) {
	redistest.StretchRapid()
	goleak.VerifyTestMain(m)
}
