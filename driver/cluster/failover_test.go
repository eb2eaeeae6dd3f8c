package cluster_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/cluster"
	"github.com/redlatch/redlatch/driver/rueidis"
	"github.com/redlatch/redlatch/internal/redistest"
)

// patience is a command timeout longer than a failover, so that the test can see which
// waits for which.
const patience = 20 * time.Second

// openPatient connects with a long command timeout.
func openPatient(t *testing.T, address string) *cluster.Driver {
	t.Helper()
	return openWith(t, cluster.Options{
		Addresses: []string{address}, CommandTimeout: patience,
		Connect: func(ctx context.Context, address string) (driver.Driver, error) {
			return rueidis.Open(ctx, rueidis.Options{Address: address, CommandTimeout: patience})
		},
	})
}

// traffic increments keys until it is stopped.
type traffic struct {
	counted tally
	over    atomic.Bool
	callers sync.WaitGroup
	slowest atomic.Int64 // call, in nanoseconds
}

// run starts callers for each key. It passes errors to check.
func (tr *traffic) run(d driver.Driver, check func(error), keys ...string) {
	for _, key := range keys {
		for range 4 {
			tr.callers.Go(func() {
				for !tr.over.Load() {
					began := time.Now()
					err := d.Do(context.Background(), command("INCR", key)).Err
					if took := int64(time.Since(began)); took > tr.slowest.Load() {
						tr.slowest.Store(took)
					}
					if err == nil {
						tr.counted.add(key)
					} else {
						check(err)
					}
				}
			})
		}
	}
}

func (tr *traffic) stop() {
	tr.over.Store(true)
	tr.callers.Wait()
}

// disturbed is how long a call to a server that nothing happened to may take on a busy
// machine: less than any timeout that it could have been held up by.
const disturbed = 2 * time.Second

// Goal: the death or silence of a master is nobody's business but of those who need its
// slots, and theirs until another has taken over. Method: load on all slots while one
// master is hurt; next to it single callers, whom no other call's failure helps.
func TestAMasterIsLost(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		hurt func(*redistest.Server)
	}{
		{"killed", (*redistest.Server).Kill},
		{"frozen", (*redistest.Server).Freeze},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			loseAMaster(t, c.hurt)
		})
	}
}

func loseAMaster(t *testing.T, hurt func(*redistest.Server)) {
	c := redistest.StartCluster(t, 3, 1)
	victim := c.Servers[0]
	key, others := c.KeyAt(t, victim), []string{c.KeyAt(t, c.Servers[1]), c.KeyAt(t, c.Servers[2])}
	d, lonely := openPatient(t, c.Servers[1].Addr()), openPatient(t, c.Servers[2].Addr())
	r := listenAndWait(t, d, key)
	do(t, lonely, "GET", key)

	var healthy, hit traffic
	healthy.run(d, func(err error) { t.Errorf("a server that nothing happened to: %v", err) }, others...)
	defer healthy.stop()
	hit.run(d, func(error) {}, key)
	defer hit.stop()
	pause(t, d, others[0], 100)

	hurt(victim)
	r.Reset()
	began := time.Now()
	alone := make(chan time.Duration, 1)
	go func() {
		for lonely.Do(context.Background(), command("GET", key)).Err != nil {
		}
		alone <- time.Since(began)
	}()
	c.AwaitNewMaster(t, key, victim)
	failover := time.Since(began)
	before := hit.counted.get(key)
	redistest.Eventually(t, patience/2, func() bool { return hit.counted.get(key) > before }, "the new master serves those who were there")
	took := <-alone
	if took > failover+patience/2 {
		t.Errorf("a single caller was served after %v, the failover took %v", took, failover)
	}
	t.Logf("failover %v, single caller %v, slowest call elsewhere %v", failover, took, time.Duration(healthy.slowest.Load()))
	r.Await(t, "+"+key, 1)
	r.Receives(t, d, "after", key)
	if slowest := time.Duration(healthy.slowest.Load()); slowest > patience/2 {
		t.Errorf("a call to a server that nothing happened to took %v", slowest)
	}
	healthy.stop()
	healthy.counted.want(t, d)
}

// Goal: also without a replica nobody else is held up, also not by those who open a
// driver or a listener meanwhile; and calls at the frozen server end in time, honestly.
func TestLongAFrozenMasterHoldsUpNobodyElse(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, 0)
	victim := c.Servers[0]
	key, other := c.KeyAt(t, victim), c.KeyAt(t, c.Servers[1])
	warm := open(t, c.Servers[1].Addr())
	do(t, warm, "GET", key)
	victim.Freeze()

	began := time.Now()
	cold := open(t, victim.Addr(), c.Servers[1].Addr())
	if took := time.Since(began); took > 2*disturbed {
		t.Errorf("opening took %v", took)
	}
	if !cold.ShardMessages() {
		t.Error("the servers that answer know shard messages")
	}
	for _, d := range []*cluster.Driver{warm, cold} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		stuck := make(chan []driver.Reply, 1)
		began := time.Now()
		go func() { stuck <- d.Pipeline(ctx, command("INCR", key), command("INCR", other)) }()
		do(t, d, "INCR", other)
		r := listen(t, d, key, other)
		r.Await(t, "+"+other, 1)
		r.Receives(t, d, "message", other)
		replies := <-stuck
		if took := time.Since(began); took > 2*disturbed {
			t.Errorf("all of it took %v", took)
		}
		if !errors.Is(replies[0].Err, context.DeadlineExceeded) || replies[1].Err != nil {
			t.Errorf("a pipeline for both: %+v", replies)
		}
		var refused *driver.ServerError
		if err := d.Do(context.Background(), command("INCR", key)).Err; err == nil ||
			errors.As(err, &refused) || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a call at the frozen server: %v", err)
		}
		r.Close()
	}
	victim.Thaw()
	for _, d := range []*cluster.Driver{warm, cold} {
		redistest.Eventually(t, soon, func() bool {
			return d.Do(context.Background(), command("GET", key)).Err == nil
		}, "the server is used again")
	}
}
