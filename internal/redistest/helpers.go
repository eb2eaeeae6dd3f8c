package redistest

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/pause"
	"github.com/redlatch/redlatch/internal/protocol"
)

// Name returns a name that no other test uses, for a lock, key or channel. It
// begins with the test's own name and holds letters, digits, '-' and '_' only.
func Name(t testing.TB) string {
	plain := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_':
			return r
		}
		return '-'
	}, t.Name())
	return plain + "-" + rand.Text()[:8]
}

// Must is v. It panics with an error.
func Must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// AwaitSession waits until Redis has the entries of so many owners in the session of a protected client: from then on a pause
// is covered.
func AwaitSession(ctx context.Context, d driver.Driver, client string, owners int64) error {
	key := protocol.SessionKey(client)
	return await(10*time.Second, func() bool {
		return d.Do(ctx, driver.Command{Words: []string{"HLEN", key}, Key: key}).Int == owners+1 // and the pulse
	}, "the session has all holds")
}

// Eventually waits until cond holds, and fails the test if it does not within
// the given time. What names the condition, as in "the lock is free".
func Eventually(t testing.TB, within time.Duration, cond func() bool, what string) {
	t.Helper()
	if err := await(within, cond, what); err != nil {
		t.Fatalf("%v", err)
	}
}

// Patience is how long a test waits for what must come in the end, if the time itself is not tested. A build machine (CI)
// shares its processors, so waits of 5s and more are four times as long there.
func Patience(within time.Duration) time.Duration {
	if os.Getenv("CI") != "" && within >= 5*time.Second {
		return 4 * within
	}
	return within
}

// await is Eventually without a test.
func await(within time.Duration, cond func() bool, what string) error {
	limited, cancel := context.WithTimeout(context.Background(), Patience(within))
	defer cancel()
	for backoff := (pause.Backoff{First: time.Millisecond, Max: 50 * time.Millisecond}); !cond(); {
		if backoff.Wait(limited) != nil && !cond() {
			return fmt.Errorf("not within %v: %s", within, what)
		}
	}
	return nil
}
