package rueidis_test

import (
	"testing"
	"time"

	"github.com/redlatch/redlatch/driver/rueidis"
)

// soon is enough for everything that should just happen.
const soon = 10 * time.Second

// open connects until the end of the test.
func open(t testing.TB, options rueidis.Options) *rueidis.Driver {
	t.Helper()
	d, err := rueidis.Open(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d
}
