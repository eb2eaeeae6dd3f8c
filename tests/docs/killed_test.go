package docs_test

import (
	"errors"
	"regexp"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/redlatchtest"
)

// Goal: what getting started says of kill -9 happens. Method: read the times from the page, and let a holder
// end without a release. A second process that asks at once gives up after its wait, and one that asks half
// a minute later has the lock at once.
func TestAKilledProcessKeepsItsLockForAsLongAsThePageSays(t *testing.T) {
	t.Parallel()
	wait := secondsIn(t, `redlatch\.WithWait\((\d+)\*time\.Second\)`)
	if says := secondsIn(t, `waits for (\d+) seconds, as its .WithWait. says`); says != wait {
		t.Errorf("the page says that the program waits for %v, and the program waits for %v", says, wait)
	}
	lease := secondsIn(t, `That takes (\d+) seconds at most`)
	synctest.Test(t, func(t *testing.T) {
		s := redlatchtest.NewServer(t)
		first, second := s.Client(redlatch.Config{}), s.Client(redlatch.Config{})
		hold, err := first.Mutex("order:1001").Lock(t.Context())
		must(t, err)
		hold.Detach() // nobody renews or releases it any more
		killed := time.Now()
		_, err = second.Mutex("order:1001").Lock(t.Context(), redlatch.WithWait(wait))
		if took := time.Since(killed); !errors.Is(err, redlatch.ErrNotAcquired) || took != wait {
			t.Errorf("the second process got %v after %v", err, took)
		}
		time.Sleep(lease + time.Second - time.Since(killed))
		_, err = second.Mutex("order:1001").TryLock(t.Context())
		must(t, err)
	})
}

// secondsIn is the time that a pattern finds in getting started, in each place the same.
func secondsIn(t *testing.T, pattern string) time.Duration {
	t.Helper()
	found := captured(t, "docs/getting-started.md", pattern)
	if len(found) == 0 {
		t.Fatalf("the page has nothing like %s", pattern)
	}
	n, err := strconv.Atoi(regexp.MustCompile(`^\d+`).FindString(found[0]))
	must(t, err)
	return time.Duration(n) * time.Second
}
