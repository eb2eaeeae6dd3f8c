package fair_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/fixture"
)

// fairKeys are the keys of a fair lock beside the lock itself.
func fairKeys(name string) (queue, deadlines, keepAlives string) {
	return "redisson_lock_queue:{" + name + "}", "redisson_lock_timeout:{" + name + "}", "redlatch:fair:{" + name + "}"
}

// queue starts waiters one after another and notes the order in which they were served.
type queue struct {
	t      *testing.T
	mu     sync.Mutex
	served []int
	all    sync.WaitGroup
}

// join starts a waiter that holds the lock for a while. It returns when the queue in Redis
// has that many waiters.
func (q *queue) join(n int, l redlatch.Lock, d driver.Driver, length int64) {
	q.t.Helper()
	q.all.Go(func() {
		h, err := l.Lock(q.t.Context())
		if err != nil {
			q.t.Error(err)
			return
		}
		q.mu.Lock()
		q.served = append(q.served, n)
		q.mu.Unlock()
		if err := h.Unlock(q.t.Context()); err != nil {
			q.t.Error(err)
		}
	})
	list, _, _ := fairKeys(l.Name())
	redistest.Eventually(q.t, 5*time.Second, func() bool { return fixture.Do(q.t, d, "LLEN", list).Int == length }, "the waiter stands in the queue")
}

func (q *queue) want(order ...int) {
	q.t.Helper()
	q.all.Wait()
	if !slices.Equal(q.served, order) {
		q.t.Errorf("served %v, want %v", q.served, order)
	}
}

// wantNothingOf fails unless nothing of a fair lock is left.
func wantNothingOf(t *testing.T, d driver.Driver, name string) {
	t.Helper()
	list, deadlines, keepAlives := fairKeys(name)
	for _, key := range []string{name, list, deadlines, keepAlives} {
		if fixture.Do(t, d, "EXISTS", key).Int != 0 {
			t.Errorf("%s is left over", key)
		}
	}
}

func TestAFairMutexServesInTheOrderOfArrivalAcrossProcesses(t *testing.T) {
	fixture.EachServer(t, func(t *testing.T, url string) {
		name, d := redistest.Name(t), fixture.Raw(t, url)
		clients := []*redlatch.Client{fixture.Open(t, url, redlatch.Config{}), fixture.Open(t, url, redlatch.Config{}), fixture.Open(t, url, redlatch.Config{})}
		h := check.Must(clients[0].FairMutex(name).Lock(t.Context()))
		q := &queue{t: t}
		var want []int
		for i := range 12 {
			q.join(i, clients[i%3].FairMutex(name), d, int64(i+1))
			want = append(want, i)
		}
		status := check.Must(clients[1].FairMutex(name).Status(t.Context()))
		if len(status.Queue) != 12 || !status.Locked || status.Holders[0].Owner != h.Owner() {
			t.Errorf("status is %+v, want 12 waiters behind %s", status, h.Owner())
		}
		for i, w := range status.Queue {
			if !strings.HasPrefix(w.Owner, clients[i%3].ID()) {
				t.Errorf("waiter %d is %s, want one of %s", i, w.Owner, clients[i%3].ID())
			}
		}
		_, err := clients[2].FairMutex(name).TryLock(t.Context())
		check.Is(t, "TryLock", err, redlatch.ErrNotAcquired)
		if err := h.Unlock(t.Context()); err != nil {
			t.Fatal(err)
		}
		q.want(want...)
		wantNothingOf(t, d, name)
	})
}

func TestAFairWaiterThatGivesUpLeavesNoTrace(t *testing.T) {
	fixture.EachServer(t, func(t *testing.T, url string) {
		c, name, d := fixture.Open(t, url, redlatch.Config{}), redistest.Name(t), fixture.Raw(t, url)
		list, deadlines, _ := fairKeys(name)
		m := c.FairMutex(name)
		h := check.Must(m.Lock(t.Context()))
		give, cancel := context.WithCancel(t.Context())
		gone := make(chan error, 1)
		go func() { _, err := m.Lock(give); gone <- err }()
		redistest.Eventually(t, 5*time.Second, func() bool { return fixture.Do(t, d, "LLEN", list).Int == 1 }, "the first waits")
		q := &queue{t: t}
		q.join(2, m, d, 2)
		behind := fixture.Do(t, d, "LINDEX", list, "1").Str
		cancel()
		check.Is(t, "the wait that was given up", <-gone, context.Canceled) // a busy machine may not know the outcome yet
		redistest.Eventually(t, 5*time.Second, func() bool { return fixture.Do(t, d, "LLEN", list).Int == 1 }, "it has left the queue")
		if n := fixture.Do(t, d, "ZCARD", deadlines).Int; n != 1 {
			t.Errorf("%d deadlines, want 1", n)
		}
		at := time.UnixMilli(score(t, d, deadlines, behind).Milliseconds())
		check.Within(t, "what the next has left", time.Until(at), 4*time.Minute, 6*time.Minute)
		err := fixture.InVain(func(wait redlatch.LockOption) error { _, err := m.Lock(t.Context(), wait); return err })
		check.Is(t, "a wait that ends", err, redlatch.ErrNotAcquired)
		_ = h.Unlock(t.Context())
		q.want(2)
		wantNothingOf(t, d, name)
	})
}

// score is a deadline in a sorted set.
func score(t *testing.T, d driver.Driver, set, member string) time.Duration {
	t.Helper()
	ms := check.Must(strconv.ParseFloat(fixture.Do(t, d, "ZSCORE", set, member).Str, 64))
	return time.Duration(ms) * time.Millisecond
}

// TestFiveHundredFairWaitersInFourClients is about order, hand-over and commands.
func TestFiveHundredFairWaitersInFourClients(t *testing.T) {
	server := redistest.Start(t)
	var clients []*redlatch.Client
	for range 4 {
		clients = append(clients, fixture.Open(t, server.URL(), redlatch.Config{}))
	}
	d, name := fixture.Raw(t, server.URL()), "job"
	h := check.Must(clients[0].FairMutex(name).Lock(t.Context()))
	const waiters = 500
	var mu sync.Mutex
	var order []int
	var gaps []time.Duration
	var freed time.Time
	var all sync.WaitGroup
	list, _, _ := fairKeys(name)
	for i := range waiters {
		all.Go(func() {
			h := check.Must(clients[i%4].FairMutex(name).Lock(t.Context()))
			mu.Lock()
			order, gaps = append(order, i), append(gaps, time.Since(freed))
			mu.Unlock()
			time.Sleep(2 * time.Millisecond)
			freed = time.Now()
			if err := h.Unlock(t.Context()); err != nil {
				t.Error(err)
			}
		})
		redistest.Eventually(t, 5*time.Second, func() bool { return fixture.Do(t, d, "LLEN", list).Int == int64(i+1) }, "it stands in the queue")
	}
	server.CLI(t, "CONFIG", "RESETSTAT")
	freed = time.Now()
	began := freed
	_ = h.Unlock(t.Context())
	all.Wait()
	took := time.Since(began)
	if !slices.IsSorted(order) || len(order) != waiters {
		t.Errorf("the order was not kept: %v", order)
	}
	slices.Sort(gaps)
	var scripts int
	for line := range strings.SplitSeq(server.CLI(t, "INFO", "commandstats").(string), "\r\n") {
		_, _ = fmt.Sscanf(line, "cmdstat_evalsha:calls=%d,", &scripts)
	}
	t.Logf("500 served in %v; hand-over p50 %v, p99 %v; %d scripts", took, gaps[waiters/2], gaps[waiters*99/100], scripts)
	check.Within(t, "scripts", scripts, 1000, 1000+4*int(took/time.Second+2)+50)
	wantNothingOf(t, d, name)
}

// TestTheNextInTurnIsServedWithoutMessages has an ACL that knows no channels: only the
// keep-alive tells the next in turn that the lock is free.
func TestTheNextInTurnIsServedWithoutMessages(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	server.CLI(t, "ACL", "SETUSER", "silent", "on", ">secret", "~*", "+@all", "resetchannels")
	c := fixture.Open(t, fmt.Sprintf("redis://silent:secret@%s", server.Addr()), redlatch.Config{})
	h := check.Must(c.FairMutex("job").Lock(t.Context()))
	q := &queue{t: t}
	q.join(1, c.FairMutex("job"), fixture.Raw(t, server.URL()), 1)
	freed := time.Now()
	if err := h.Unlock(t.Context()); err != nil {
		t.Fatal(err)
	}
	q.want(1)
	check.Within(t, "time until the next is served", time.Since(freed), 0, 2500*time.Millisecond+fixture.Slack)
}
