package clients_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/fixture"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// What Close leaves behind, and what it waits for.

// One of 500 locks cannot be reached, as in a cluster where one slot is not served.
func TestCloseReleasesEveryLockThatCanBeReached(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{
		"CLUSTERDOWN Hash slot not served",
		"NOPERM this user has no permissions to access one of the keys used as arguments",
	} {
		code, _, _ := strings.Cut(answer, " ")
		t.Run(code, func(t *testing.T) {
			stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
				net := s.Tap()
				c := check.Must(redlatch.New(s.Driver, fixture.Quiet(redlatch.Config{})))
				check.Must(c.Mutex("far").Lock(s.Limited()))
				for i := range 499 {
					check.Must(c.Mutex(fmt.Sprint("near", i)).Lock(s.Limited()))
				}
				net.Set(stage.Refusing(answer, func(c driver.Command) bool { return c.Key == "far" }))
				defer net.Set(nil)
				began := time.Now()
				err := c.Close(s.Limited())
				check.Within(t, "Close", time.Since(began), 0, 6*time.Second)
				if err == nil {
					t.Error("Close does not tell of the lock that stays")
				}
				if left := s.Memory.Miniredis().Keys(); len(left) != 1 {
					t.Errorf("Close is %v and left %d locks, want the one that cannot be reached", err, len(left))
				}
			})
		})
	}
}

// An acquisition waits for replicas that do not exist, for longer than Close is to take.
func TestCloseDoesNotWaitForReplicas(t *testing.T) {
	server := redistest.Start(t)
	c, err := redlatch.Open(t.Context(), server.URL(), fixture.Quiet(redlatch.Config{ReleaseTimeout: 2 * time.Second, CommandTimeout: 2 * time.Second}))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		server.Kill() // ends whatever still waits for it
		_ = c.Close(context.Background())
	}()
	got := make(chan error, 1)
	go func() {
		_, err := c.Mutex("job").Lock(t.Context(), redlatch.WithReplicas(1, time.Minute))
		got <- err
	}()
	redistest.Eventually(t, 5*time.Second, func() bool {
		return strings.Contains(server.CLI(t, "CLIENT", "LIST").(string), "cmd=wait")
	}, "the server waits for replicas")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := c.Close(ctx); err != nil {
		t.Fatal("Close:", err)
	}
	select {
	case err := <-got:
		if err == nil {
			t.Error("Lock granted a hold that Close has ended")
		}
	case <-time.After(10 * time.Second):
		t.Error("Lock goes on after Close")
	}
	if held := server.CLI(t, "EXISTS", "job"); held != int64(0) {
		t.Error("the lock stays in Redis")
	}
}

// Close releases many holds of a server that answers.
func TestCloseOfManyHolds(t *testing.T) {
	const holds = 20_000
	server := redistest.Start(t)
	c := check.Must(redlatch.Open(t.Context(), server.URL(), fixture.Quiet(redlatch.Config{LeaseTime: 5 * time.Minute, ReleaseTimeout: time.Minute})))
	var wg sync.WaitGroup
	var next atomic.Int64
	for range 256 {
		wg.Go(func() {
			for i := int(next.Add(1)); i <= holds; i = int(next.Add(1)) {
				if _, err := c.Mutex(fmt.Sprint("job", i)).Lock(context.Background()); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	began := time.Now()
	err := c.Close(context.Background())
	t.Logf("closed in %v", time.Since(began))
	if left := server.CLI(t, "DBSIZE"); err != nil || left != int64(0) {
		t.Errorf("the server answers all the time, Close is %v, and %v keys are left for five minutes", err, left)
	}
	_, err = c.Mutex("job").Status(t.Context())
	check.Is(t, "Status after Close", err, redlatch.ErrClosed)
}
