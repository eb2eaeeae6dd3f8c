package inspect_test

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/inspect"
)

// slowServer is a server of many locks that notes when it gets each command. It forgets each script
// that it has got with a request, so that all requests are repeated.
type slowServer struct {
	mu    sync.Mutex
	times []time.Time
	cost  []int
	known bool
	fails bool
	pages int  // of locks; 0 means five
	more  bool // one lock more, on the last page
}

func (s *slowServer) fail(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fails = on
}

const locksAtOnce = 50

func (s *slowServer) Do(ctx context.Context, c driver.Command) driver.Reply {
	return s.Pipeline(ctx, c)[0]
}

func (s *slowServer) Pipeline(_ context.Context, commands ...driver.Command) (replies []driver.Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known = false
	for _, c := range commands {
		cost := 1
		switch c.Words[0] {
		case "SCAN":
			cost = 10
		case "HEXISTS", "MEMORY", "HRANDFIELD": // a hundredth
			cost = 0
		}
		s.times, s.cost = append(s.times, time.Now()), append(s.cost, cost)
		replies = append(replies, s.answer(c.Words))
	}
	return replies
}

func (s *slowServer) answer(words []string) driver.Reply {
	text := func(s string) driver.Reply { return driver.Reply{Str: s} }
	list := func(all ...driver.Reply) driver.Reply { return driver.Reply{Array: append([]driver.Reply{}, all...)} }
	if s.fails {
		return driver.Reply{Err: errors.New("an outage")}
	}
	switch words[0] {
	case "SCAN":
		cursor, _ := strconv.Atoi(words[1])
		var keys []driver.Reply
		for n := range locksAtOnce {
			keys = append(keys, text(strconv.Itoa(cursor*locksAtOnce+n)))
		}
		pages := cmp.Or(s.pages, 5)
		if s.more && cursor == pages-1 {
			keys = append(keys, text("more"))
		}
		return list(text(strconv.Itoa((cursor+1)%pages)), list(keys...))
	case "EVALSHA":
		if !s.known {
			return driver.Reply{Err: &driver.ServerError{Message: "NOSCRIPT"}}
		}
		fallthrough
	case "EVAL":
		s.known = true
		return list(driver.Reply{Int: 1}, driver.Reply{Int: 1000}, text("0"), text("exclusive"), driver.Reply{Int: 1}, driver.Reply{},
			driver.Reply{}, list(), list(text(java(1, 1)), text("1"), list(), list()))
	case "PUBSUB":
		var counts []driver.Reply
		for _, channel := range words[2:] {
			counts = append(counts, text(channel), driver.Reply{})
		}
		return list(counts...)
	case "CLIENT":
		return text("")
	}
	return driver.Reply{Err: &driver.ServerError{Message: "ERR unknown command " + strings.ToLower(words[0])}}
}

func (s *slowServer) DedicatedPipeline(ctx context.Context, c ...driver.Command) []driver.Reply {
	return s.Pipeline(ctx, c...)
}
func (s *slowServer) Listen(context.Context, driver.Events) (driver.Listener, error) {
	return nil, &driver.ServerError{Message: "ERR no messages"}
}
func (s *slowServer) Close() {}

// Goal: the rate holds for all commands together, of several readings at a time, repetitions
// included. Method: every second of simulated time has Rate commands at most, and one request more.
func TestTheRateHoldsForAllCommands(t *testing.T) {
	t.Parallel()
	for _, rate := range []int{7, 100, 2000} {
		synctest.Test(t, func(t *testing.T) {
			s := &slowServer{}
			i := inspector(t, s, inspect.Config{Rate: rate})
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			defer cancel()
			began := time.Now()
			var reading sync.WaitGroup
			found := 0
			reading.Go(func() {
				for _, err := range i.Locks(ctx, "") {
					if err != nil {
						t.Error(err)
					}
					found++
				}
			})
			reading.Go(func() {
				for n := range 20 {
					if _, err := i.Lock(ctx, strconv.Itoa(n)); err != nil {
						t.Error(err)
					}
				}
			})
			reading.Wait()
			if found != 5*locksAtOnce {
				t.Errorf("rate %d: found %d locks", rate, found)
			}
			total := 0
			for first := range s.times {
				total += s.cost[first]
				inSecond := 0
				for n := first; n < len(s.times) && s.times[n].Before(s.times[first].Add(time.Second)); n++ {
					inSecond += s.cost[n]
				}
				if burst := max(10, min(100, rate/10)); inSecond > rate+2*burst {
					t.Fatalf("rate %d: %d commands in one second", rate, inSecond)
				}
			}
			if least := time.Duration(total) * time.Second / time.Duration(rate) * 3 / 4; time.Since(began) < least {
				t.Errorf("rate %d: %d commands in %v", rate, total, time.Since(began))
			}
		})
	}
}

// Goal: a reading that waits for its turn ends with its context.
func TestWaitingForTheRateEndsWithTheContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i := inspector(t, &slowServer{}, inspect.Config{Rate: 1})
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		began, failures := time.Now(), 0
		for _, err := range i.Locks(ctx, "") {
			if err != nil {
				failures++
			}
		}
		if took := time.Since(began); took != 30*time.Second || failures != 1 {
			t.Errorf("%d errors after %v", failures, took)
		}
	})
}

// Goal: whoever follows very many locks sees a new one about as soon as a new reading of all would show it.
// Finding and reading again each have a share of the rate.
func TestFollowFindsALockInTwiceTheTimeOfAReading(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &slowServer{pages: 10_000 / locksAtOnce}
		i := inspector(t, s, inspect.Config{})
		began, found := time.Now(), 0
		for _, err := range i.Locks(t.Context(), "") {
			if err != nil {
				t.Fatal(err)
			}
			found++
		}
		once := time.Since(began)
		began, step := time.Now(), 0
		for snapshot, err := range i.Follow(t.Context(), "*", time.Second) {
			if err != nil {
				t.Fatal(err)
			}
			took := time.Since(began)
			if took > 2*once {
				t.Fatalf("step %d: %d locks after %v; a reading of all takes %v", step, len(snapshot.Locks), took, once)
			}
			if len(snapshot.Locks) < found+step {
				continue
			}
			if step++; step == 2 {
				return
			}
			s.mu.Lock()
			s.more = true
			s.mu.Unlock()
			began = time.Now()
		}
	})
}
