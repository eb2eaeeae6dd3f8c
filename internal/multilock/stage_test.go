package multilock

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/embedded"
	"github.com/redlatch/redlatch/internal/lock"
	"github.com/redlatch/redlatch/internal/pause"
)

// The settings of all clients here.
const (
	lease   = 30 * time.Second
	renewal = 10 * time.Second
	timeout = 3 * time.Second
)

// site is one server, with a client of its own.
type site struct {
	*Server
	*embedded.Spoiled
	uptime time.Duration // at its start
	run    string        // of the server
	began  time.Time
	tells  time.Duration // after which it says what it says of itself
}

// stage is some servers in a bubble of fake time. They have been up for a day.
type stage struct {
	*testing.T
	sites []*site
}

func story(t *testing.T, servers int, tell func(s *stage)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, s := context.Background(), &stage{T: t}
		for i := range servers {
			d, err := embedded.OpenSpoiled(ctx)
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			at := &site{Spoiled: d, uptime: 24 * time.Hour, run: fmt.Sprint("run", i), began: time.Now()}
			at.Server = &Server{
				Locks: newManager(at), Driver: at, Address: string(rune('a' + i)),
				Restart: Restart{Delay: lease, Timeout: timeout},
			}
			s.sites = append(s.sites, at)
		}
		defer func() {
			for _, at := range s.sites {
				at.Spoil(nil)
				if err := at.Locks.Close(ctx); err != nil {
					t.Error("close:", err)
				}
				at.quorums.Range(func(g, _ any) bool {
					t.Errorf("%s is still part of %v", at.Address, g.(*group).name)
					return true
				})
			}
		}()
		tell(s)
	})
}

func newManager(d driver.Driver) *lock.Manager {
	return lock.New(lock.Settings{
		Driver: d, Lease: lease, RenewInterval: renewal, FairWait: time.Minute, PollCap: 5 * time.Second,
		CommandTimeout: timeout, ReleaseTimeout: timeout, Logger: slog.New(slog.DiscardHandler),
	})
}

// Do answers INFO, which the embedded server does not know in full.
func (s *site) Do(ctx context.Context, command driver.Command) driver.Reply {
	if command.Words[0] != "INFO" {
		return s.Spoiled.Do(ctx, command)
	}
	if err := pause.For(ctx, s.tells); err != nil {
		return driver.Reply{Err: err}
	}
	up := s.uptime + time.Since(s.began)
	return driver.Reply{Str: fmt.Sprintf("# Server\r\nrun_id:%s\r\nuptime_in_seconds:%d\r\n", s.run, up/time.Second)}
}

// Pipeline sends commands one after another.
func (s *site) Pipeline(ctx context.Context, commands ...driver.Command) []driver.Reply {
	replies := make([]driver.Reply, len(commands))
	for i, command := range commands {
		replies[i] = s.Do(ctx, command)
	}
	return replies
}

// of is a member on the site.
func (s *site) of(name string) Member {
	ref := s.Locks.Mutex(name)
	return Member{Server: s.Server, Ref: &ref}
}

// holds says that somebody holds a lock of the server.
func (s *site) holds(name string) bool { return s.Miniredis().Exists(name) }

// take has somebody else hold a lock of the server.
func (s *site) take(t *testing.T, name string, lease time.Duration) {
	t.Helper()
	s.Miniredis().HSet(name, "4e1b6b8e-6f3e-4b5a-9d4f-0a6a6b3b0f10:1", "1")
	s.Miniredis().SetTTL(name, lease)
}

// members are one lock of that name on each server.
func (s *stage) members(name string) (members []Member) {
	for _, at := range s.sites {
		members = append(members, at.of(name))
	}
	return members
}

// set is the members, in their order.
func (s *stage) set() Set {
	s.Helper()
	set, err := Servers("NewQuorum", s.members("job"))
	if err != nil {
		s.Fatal(err)
	}
	return set
}

// quorum is an order for a majority of the servers.
func (s *stage) quorum(whole lock.Options) order {
	s.Helper()
	set := s.set()
	o, err := newOrder(context.Background(), "Quorum", set.CommonName(), set, set.majority(), same(whole, len(set.Members)))
	if err != nil {
		s.Fatal(err)
	}
	return o
}

// same are the same options for each of n members.
func same(whole lock.Options, n int) []lock.Options {
	each := make([]lock.Options, n)
	for i := range each {
		each[i] = whole
	}
	return each
}

// held are the addresses of the servers on which the lock is held.
func (s *stage) held(name string) string {
	var where []string
	for _, at := range s.sites {
		if at.holds(name) {
			where = append(where, at.Address)
		}
	}
	return strings.Join(where, " ")
}

// limited is a context that ends within an hour. In a bubble, a wait without an end takes real time.
func (s *stage) limited() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	s.Cleanup(cancel)
	return ctx
}
