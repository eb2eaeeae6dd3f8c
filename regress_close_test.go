package redlatch_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/redistest"
)

// What Close leaves behind, and what it waits for.

// One of 500 locks cannot be reached, as in a cluster where one slot is not served.
func TestCloseReleasesEveryLockThatCanBeReached(t *testing.T) {
	for _, answer := range []string{
		"CLUSTERDOWN Hash slot not served",
		"NOPERM this user has no permissions to access one of the keys used as arguments",
	} {
		code, _, _ := strings.Cut(answer, " ")
		t.Run(code, func(t *testing.T) {
			story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
				net := s.tap()
				c := must(redlatch.New(s.driver, quiet(redlatch.Config{})))
				must(c.Mutex("far").Lock(s.limited()))
				for i := range 499 {
					must(c.Mutex(fmt.Sprint("near", i)).Lock(s.limited()))
				}
				net.set(refusing(answer, func(c driver.Command) bool { return c.Key == "far" }))
				defer net.set(nil)
				began := time.Now()
				err := c.Close(s.limited())
				within(t, "Close", time.Since(began), 0, 6*time.Second)
				if err == nil {
					t.Error("Close does not tell of the lock that stays")
				}
				if left := s.memory.Miniredis().Keys(); len(left) != 1 {
					t.Errorf("Close is %v and left %d locks, want the one that cannot be reached", err, len(left))
				}
			})
		})
	}
}

// An acquisition waits for replicas that do not exist, for longer than Close is to take.
func TestCloseDoesNotWaitForReplicas(t *testing.T) {
	server := redistest.Start(t)
	c, err := redlatch.Open(t.Context(), server.URL(), quiet(redlatch.Config{ReleaseTimeout: 500 * time.Millisecond, CommandTimeout: 500 * time.Millisecond}))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		server.Kill() // ends whatever still waits for it
		_ = c.Close(context.Background())
	}()
	got := make(chan error, 1)
	go func() {
		_, err := c.Mutex("job").Lock(t.Context(), redlatch.WithReplicas(1, 10*time.Second))
		got <- err
	}()
	redistest.Eventually(t, 5*time.Second, func() bool {
		return strings.Contains(server.CLI(t, "CLIENT", "LIST").(string), "cmd=wait")
	}, "the server waits for replicas")
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	if err := c.Close(ctx); err != nil {
		t.Fatal("Close:", err)
	}
	select {
	case err := <-got:
		if err == nil {
			t.Error("Lock granted a hold that Close has ended")
		}
	case <-time.After(time.Second):
		t.Error("Lock goes on after Close")
	}
	if held := server.CLI(t, "EXISTS", "job"); held != int64(0) {
		t.Error("the lock stays in Redis")
	}
}
