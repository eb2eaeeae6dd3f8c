package redlatch_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
)

// What the regression tests (regress_*_test.go) have in common.

// lockKind is one way to hold a lock, and the way that excludes it.
type lockKind struct {
	name        string
	lock, rival func(c *redlatch.Client, name string) redlatch.Lock
}

var lockKinds = []lockKind{
	{"mutex", mutexOf, mutexOf},
	{"fair", fairOf, fairOf},
	{"write", writeOf, writeOf},
	{"read", readOf, writeOf},
}

func mutexOf(c *redlatch.Client, name string) redlatch.Lock { return c.Mutex(name) }
func fairOf(c *redlatch.Client, name string) redlatch.Lock  { return c.FairMutex(name) }
func writeOf(c *redlatch.Client, name string) redlatch.Lock { return c.RWMutex(name).Locker() }
func readOf(c *redlatch.Client, name string) redlatch.Lock  { return c.RWMutex(name).RLocker() }

// eachKind tells a story of each kind of lock. All of them are called "job".
func eachKind(t *testing.T, cfg redlatch.Config, tell func(t *testing.T, s *stage, k lockKind)) {
	t.Helper()
	for _, k := range lockKinds {
		t.Run(k.name, func(t *testing.T) {
			story(t, cfg, func(t *testing.T, s *stage) {
				s.teach(k)
				tell(t, s, k)
			})
		})
	}
}

// teach has the server know the scripts of a kind. A server that does not know a script
// carries out nothing: whoever loses the reply to the first request has lost nothing.
func (s *stage) teach(k lockKind) {
	s.Helper()
	c := s.stranger()
	for _, l := range []redlatch.Lock{k.lock(c, "lesson"), k.rival(c, "lesson")} {
		if err := must(l.Lock(context.Background())).Unlock(context.Background()); err != nil {
			s.Fatal(err)
		}
	}
}

// limited is the context of a story that ends within an hour of its time. In a bubble, who
// waits for ever waits without a pause.
func (s *stage) limited() context.Context {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.Context()), time.Hour)
	s.Cleanup(cancel)
	return ctx
}

// stranger returns a client of another machine: no fault of this one's network meets it.
func (s *stage) stranger() *redlatch.Client {
	s.Helper()
	c, err := redlatch.New(s.memory, quiet(redlatch.Config{}))
	if err != nil {
		s.Fatal(err)
	}
	s.others = append(s.others, c)
	return c
}

// wantAlone fails if a stranger gets the lock while h says that it is valid. It returns
// when h has ended.
func (s *stage) wantAlone(h *redlatch.Hold, k lockKind) {
	s.Helper()
	rival, began := k.rival(s.stranger(), "job"), time.Now()
	for ; h.Valid(); time.Sleep(time.Second) {
		other, err := rival.TryLock(context.Background())
		if err == nil {
			since := time.Since(began)
			<-h.Done()
			s.Errorf("after %v a stranger got the lock, and the hold was valid for %v more", since, time.Since(began)-since)
			_ = other.Unlock(context.Background())
			return
		}
		if time.Since(began) > time.Hour {
			s.Fatal("the hold does not end")
		}
	}
}

// tap is a driver whose requests a test can look at, hold up, answer and lose.
type tap struct {
	driver.Driver
	deaf atomic.Bool // no message arrives

	mu     sync.Mutex
	around around
}

// around is what becomes of a request: send carries out commands.
type around func(commands []driver.Command, send sender) []driver.Reply

type sender func(commands ...driver.Command) []driver.Reply

// tap puts a tap between the stage's clients and their server. It comes before the first
// request.
func (s *stage) tap() *tap {
	d := &tap{Driver: s.driver.Driver}
	s.driver.Driver = d
	return d
}

func (d *tap) set(f around) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.around = f
}

func (d *tap) Do(ctx context.Context, c driver.Command) driver.Reply { return d.Pipeline(ctx, c)[0] }

func (d *tap) Pipeline(ctx context.Context, commands ...driver.Command) []driver.Reply {
	d.mu.Lock()
	f := d.around
	d.mu.Unlock()
	if f == nil {
		return d.Driver.Pipeline(ctx, commands...)
	}
	return f(commands, func(some ...driver.Command) []driver.Reply { return d.Driver.Pipeline(ctx, some...) })
}

func (d *tap) Listen(ctx context.Context, events driver.Events) (driver.Listener, error) {
	if d.deaf.Load() {
		events.Message = nil
	}
	return d.Driver.Listen(ctx, events)
}

// failAll are the replies to commands that all came to one error.
func failAll(commands []driver.Command, err error) []driver.Reply {
	replies := make([]driver.Reply, len(commands))
	for i := range replies {
		replies[i].Err = err
	}
	return replies
}

// refusing answers the commands that match with an error of the server, and has the others
// carried out.
func refusing(answer string, match func(c driver.Command) bool) around {
	return func(commands []driver.Command, send sender) []driver.Reply {
		replies := failAll(commands, &driver.ServerError{Message: answer})
		var others []driver.Command
		var at []int
		for i, c := range commands {
			if !match(c) {
				others, at = append(others, c), append(at, i)
			}
		}
		if len(others) == 0 {
			return replies
		}
		for i, reply := range send(others...) {
			replies[at[i]] = reply
		}
		return replies
	}
}
