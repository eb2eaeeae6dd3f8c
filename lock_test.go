package redlatch_test

import (
	"testing"

	"github.com/redlatch/redlatch"
)

// Goal: Exclusive reports of a nil lock, too, that nobody can hold it alone. Of a nil RWMutex and a nil Multi it panicked.
func TestANilLockIsNotExclusive(t *testing.T) {
	t.Parallel()
	for _, l := range []redlatch.Lock{nil, (*redlatch.Mutex)(nil), (*redlatch.RWMutex)(nil), (*redlatch.Multi)(nil), (*redlatch.Quorum)(nil)} {
		if redlatch.Exclusive(l) {
			t.Errorf("a nil %T is exclusive", l)
		}
	}
}
