package weather_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/rueidis"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/fixture"
)

// replicated is a primary with two replicas that have caught up.
func replicated(t *testing.T) (primary *redistest.Server, replicas []*redistest.Server) {
	t.Helper()
	primary = redistest.Start(t, "--repl-diskless-sync-delay", "0")
	host, port, _ := net.SplitHostPort(primary.Addr())
	for range 2 {
		replicas = append(replicas, redistest.Start(t, "--replicaof", host, port))
	}
	for _, replica := range replicas {
		redistest.Eventually(t, 20*time.Second, func() bool {
			return strings.Contains(replica.CLI(t, "INFO", "replication").(string), "master_link_status:up")
		}, "the replica has caught up")
	}
	return primary, replicas
}

// Goal: when Lock returns, every replica asked for has the hold, whatever kind it is and
// however it was taken.
func TestAHoldWithReplicasIsOnEachOfThemWhenLockReturns(t *testing.T) {
	t.Parallel()
	primary, replicas := replicated(t)
	c := fixture.Open(t, primary.URL(), redlatch.Config{})
	rival := fixture.Open(t, primary.URL(), redlatch.Config{})
	all := redlatch.WithReplicas(2, 10*time.Second)
	for kind, lock := range map[string]func(c *redlatch.Client, name string) redlatch.Lock{
		"mutex": func(c *redlatch.Client, name string) redlatch.Lock { return c.Mutex(name) },
		"fair":  func(c *redlatch.Client, name string) redlatch.Lock { return c.FairMutex(name) },
		"write": func(c *redlatch.Client, name string) redlatch.Lock { return c.RWMutex(name) },
		"read":  func(c *redlatch.Client, name string) redlatch.Lock { return c.RWMutex(name).RLocker() },
	} {
		name := redistest.Name(t) + kind
		for _, contended := range []bool{false, true} {
			if contended {
				before := check.Must(lock(rival, name).Lock(t.Context(), redlatch.WithLease(100*time.Millisecond)))
				defer before.Unlock(t.Context())
			}
			ctx := c.WithOwner(t.Context())
			h := check.Must(lock(c, name).Lock(ctx, all, redlatch.WithFencing()))
			again := check.Must(lock(c, name).Lock(ctx, all))
			for i, replica := range replicas {
				field := h.Owner()
				if kind == "write" {
					field += ":write"
				}
				if got := replica.CLI(t, "HGET", name, field); got != "2" {
					t.Errorf("%s, contended %v: replica %d has the count %v, want 2", kind, contended, i, got)
				}
				if got := replica.CLI(t, "GET", "redisson_lock_token:{"+name+"}"); got == nil {
					t.Errorf("%s, contended %v: replica %d has no token", kind, contended, i)
				}
			}
			if err := errors.Join(again.Unlock(t.Context()), h.Unlock(t.Context())); err != nil {
				t.Error(err)
			}
		}
	}
}

// Goal: a hold that too few have is nobody's, and the error says how many had it; others of
// the same client do not wait behind the question.
func TestAHoldThatTooFewReplicasHaveIsGivenBack(t *testing.T) {
	t.Parallel()
	primary, replicas := replicated(t)
	c := fixture.Open(t, primary.URL(), redlatch.Config{})
	name := redistest.Name(t)
	replicas[1].Freeze()

	h := check.Must(c.Mutex(name).Lock(t.Context(), redlatch.WithReplicas(1, 10*time.Second)))
	if err := h.Unlock(t.Context()); err != nil {
		t.Fatal(err)
	}

	failed := make(chan error, 1)
	go func() {
		_, err := c.Mutex(name).Lock(t.Context(), redlatch.WithReplicas(2, 6*time.Second))
		failed <- err
	}()
	redistest.Eventually(t, 5*time.Second, func() bool { return primary.CLI(t, "EXISTS", name) == int64(1) }, "the lock is taken")
	for range 20 {
		h := check.Must(c.Mutex(name + "-other").Lock(t.Context()))
		if err := h.Unlock(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if len(failed) > 0 {
		t.Error("others have waited for the question")
	}
	err := <-failed
	if err == nil {
		t.Fatal("it is a hold")
	}
	check.Is(t, "Lock", err, redlatch.ErrNotReplicated)
	if !strings.Contains(err.Error(), "1 of 2 replicas") {
		t.Errorf("the error %q does not say how many had it", err)
	}
	if got := primary.CLI(t, "EXISTS", name); got != int64(0) {
		t.Errorf("the lock stands after %v", err)
	}
	if stats := c.Stats(); stats.Holds != 0 {
		t.Errorf("%d holds are left", stats.Holds)
	}

	// A re-entry that is not replicated leaves the outer hold as it was.
	ctx := c.WithOwner(t.Context())
	outer := check.Must(c.Mutex(name).Lock(ctx))
	_, err = c.Mutex(name).Lock(ctx, redlatch.WithReplicas(2, 10*time.Millisecond))
	check.Is(t, "re-entry", err, redlatch.ErrNotReplicated)
	if got := primary.CLI(t, "HGET", name, outer.Owner()); got != "1" || !outer.Valid() {
		t.Errorf("after it the count is %v, valid %v", got, outer.Valid())
	}
	short, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	began := time.Now()
	_, err = c.Mutex(name+"-third").Lock(short, redlatch.WithReplicas(2, time.Minute))
	check.Is(t, "a context that ends", err, redlatch.ErrNotReplicated, context.DeadlineExceeded)
	check.Within(t, "it", time.Since(began), 900*time.Millisecond, 20*time.Second)
}

// meddler does something just before the replicas are asked.
type meddler struct {
	driver.Driver
	meddle func()
}

func (m meddler) DedicatedPipeline(ctx context.Context, commands ...driver.Command) []driver.Reply {
	m.meddle()
	return m.Driver.DedicatedPipeline(ctx, commands...)
}

// Goal: what happens to the lock between the grant and the confirmation is not overlooked.
func TestAHoldThatGoesBeforeItIsConfirmedIsLost(t *testing.T) {
	t.Parallel()
	server, _ := replicated(t)
	name := redistest.Name(t)
	d := check.Must(rueidis.Open(t.Context(), rueidis.Options{Address: server.Addr()}))
	defer d.Close()
	c := check.Must(redlatch.New(meddler{d, func() { server.CLI(t, "DEL", name) }}, fixture.Quiet(redlatch.Config{})))
	defer c.Close(context.Background())
	_, err := c.Mutex(name).Lock(t.Context(), redlatch.WithReplicas(1, 5*time.Second))
	check.Is(t, "Lock", err, redlatch.ErrLost)
	if got := server.CLI(t, "EXISTS", name); got != int64(0) {
		t.Error("the confirmation has brought the lock back")
	}
}

func TestWithoutReplicasNothingIsAskedOfThem(t *testing.T) {
	t.Parallel()
	server, name := redistest.Start(t), redistest.Name(t)
	c := fixture.Open(t, server.URL(), redlatch.Config{})
	h := check.Must(c.Mutex(name).Lock(t.Context()))
	if err := h.Unlock(t.Context()); err != nil {
		t.Fatal(err)
	}
	if list := server.CLI(t, "CLIENT", "LIST").(string); strings.Count(list, "name=redlatch:") != 1 {
		t.Errorf("want one connection, have\n%s", list)
	}
	if stats := server.CLI(t, "INFO", "commandstats").(string); strings.Contains(stats, "cmdstat_wait:") {
		t.Error("WAIT was sent")
	}
}
