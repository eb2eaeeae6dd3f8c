// Package scene is a bubble of fake time with the servers of one kind of lock, and processes that want it.
package scene

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// Scene is one kind of lock in a bubble of fake time.
type Scene struct {
	*testing.T
	Kind
	Posts   []*stage.Post
	Home    *Process
	permits int
	ctx     context.Context
	all     []*Process
	place   map[string]int // the server of a client, by its id
}

// Each tells a story of each kind of lock. In the end the lock is free for a stranger, and nothing of it is left.
func Each(t *testing.T, cfg redlatch.Config, tell func(s *Scene)) {
	t.Helper()
	EachThat(t, func(Kind) bool { return true }, cfg, tell)
}

// EachThat is Each for some of the kinds.
func EachThat(t *testing.T, is func(k Kind) bool, cfg redlatch.Config, tell func(s *Scene)) {
	t.Helper()
	for _, k := range Kinds {
		if is(k) {
			t.Run(k.Name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					Open(t, k, 1, cfg, func(s *Scene) { s.teach(); tell(s) })
				})
			})
		}
	}
}

// Open tells a story in a bubble, with so many permits where permits are taken. No server knows a script yet.
func Open(t *testing.T, k Kind, permits int, cfg redlatch.Config, tell func(s *Scene)) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 24*time.Hour)
	defer cancel()
	s := &Scene{T: t, Kind: k, Posts: stage.Posts(t, k.Servers, redlatch.Config{}), permits: permits, ctx: ctx, place: map[string]int{}}
	s.furnish()
	s.Home = s.Other(cfg)
	tell(s)
	s.end()
}

// Context is that of a story, which ends within a day of its time.
func (s *Scene) Context() context.Context { return s.ctx }

// furnish makes what must be there before the lock can be taken, and tells nobody.
func (s *Scene) furnish() {
	if s.Lock.mode == counted {
		check.Must(0, s.Posts[0].Memory.Miniredis().Set("job", strconv.Itoa(s.permits)))
	}
}

// teach has the servers know all scripts. A server that does not know a script carries out nothing: whoever
// loses the reply to the first request has lost nothing.
func (s *Scene) teach() {
	p := s.Stranger()
	ctx := p.Owner()
	outer := check.Must(p.Lock.Lock(ctx))
	if s.CanReenter() {
		for _, l := range []redlatch.Lock{p.Lock, p.Inside} {
			check.Is(s.T, "Unlock", check.Must(l.Lock(ctx)).Unlock(ctx), nil)
		}
	}
	time.Sleep(11 * time.Second) // a renewal
	check.Is(s.T, "Unlock", outer.Unlock(ctx), nil)
	check.Is(s.T, "Unlock", check.Must(p.Rival.Lock(ctx)).Unlock(ctx), nil)
	time.Sleep(time.Second)
	s.Vanish()
}

// end checks that nothing is left. What nobody could settle ends with its lease.
func (s *Scene) end() {
	s.Helper()
	s.Net(nil)
	time.Sleep(time.Minute)
	for _, p := range s.all {
		for _, c := range p.Clients {
			if st := c.Stats(); st.Holds != 0 || st.Waiters != 0 {
				s.Errorf("left over: %+v", st)
			}
		}
	}
	p := s.Stranger()
	h, err := p.Rival.Lock(s.ctx, redlatch.WithWait(time.Minute))
	if err != nil {
		s.Errorf("in the end the lock is not free: %v; Redis has %v", err, s.Redis())
	} else {
		p.Free(h)
	}
	time.Sleep(time.Second)
	if got, want := s.Redis(), s.Expected(); got != want {
		s.Errorf("in the end Redis has %s, want %s", got, want)
	}
	for _, p := range s.all {
		if err := p.Close(); err != nil {
			s.Error("Close:", err)
		}
	}
}

// Net decides from now on what becomes of the requests of all processes but strangers. It is called for
// each server.
func (s *Scene) Net(around func() stage.Around) {
	for _, p := range s.Posts {
		if around == nil {
			p.Set(nil)
		} else {
			p.Set(around())
		}
	}
}

// Spoil has fates decide it.
func (s *Scene) Spoil(fate func() func([]string) stage.Fate) {
	s.Net(func() stage.Around { return stage.Spoiling(fate()) })
}

// SpoilOnce spoils the next request to each server.
func (s *Scene) SpoilOnce(what stage.Fate) {
	s.Spoil(func() func([]string) stage.Fate { return stage.Once(what) })
}

// SpoilSome has fates decide about as many servers as a process can do without, or about all if it needs all.
func (s *Scene) SpoilSome(fate func([]string) stage.Fate) {
	spoiled := s.Posts
	if s.Sort == Majority {
		spoiled = s.Posts[:(s.Servers-1)/2]
	}
	for _, p := range spoiled {
		p.Set(stage.Spoiling(fate))
	}
}

// Cut loses all requests.
func (s *Scene) Cut() {
	s.Spoil(func() func([]string) stage.Fate { return func([]string) stage.Fate { return stage.Lost } })
}

// Kill has as few servers answer nothing as keep everybody from the lock.
func (s *Scene) Kill() {
	for _, p := range s.Posts[:s.needed()] {
		p.Set(stage.Dead)
	}
}

// needed is how many servers make that none can be held without them.
func (s *Scene) needed() int {
	if s.Sort == Majority {
		return s.Servers/2 + 1
	}
	return 1
}

// All has one function decide it for all servers.
func (s *Scene) All(around stage.Around) { s.Net(func() stage.Around { return around }) }

// Refuse has the servers refuse what takes, renews or releases a lock.
func (s *Scene) Refuse(answer string) { s.All(stage.Refusing(answer, stage.Changing)) }

// Vanish has the servers forget everything but the number of permits.
func (s *Scene) Vanish() {
	for _, p := range s.Posts {
		p.Memory.Miniredis().FlushAll()
	}
	s.furnish()
}

// Forget has the servers forget a hold: of several locks its members alone.
func (s *Scene) Forget(members []*redlatch.Hold) {
	if s.Sort != Whole {
		s.Vanish()
	}
	for i, one := range members {
		s.Posts[i%s.Servers].Memory.Miniredis().Del(one.Name())
	}
}

// Lose costs the holder its lock: one of several is gone, and most of a majority is another's for 11 seconds.
func (s *Scene) Lose() {
	switch m := s.Posts[0].Memory.Miniredis(); s.Sort {
	case Whole:
		m.Del("job")
	case Majority:
		for _, p := range s.Posts[:s.needed()] {
			m := p.Memory.Miniredis()
			m.Del("job")
			m.HSet("job", "somebody:1", "1")
			m.SetTTL("job", 11*time.Second)
		}
	default:
		s.Vanish()
	}
}

// Process is one that wants the lock: a client for each server.
type Process struct {
	scene               *Scene
	Clients             []*redlatch.Client
	Lock, Rival, Inside redlatch.Lock
}

// Other returns one more process behind the same network.
func (s *Scene) Other(cfg redlatch.Config) *Process {
	return s.process(cfg, func(p *stage.Post) driver.Driver { return p.Tap })
}

// Stranger returns a process of another network, which no fault meets.
func (s *Scene) Stranger() *Process {
	return s.process(redlatch.Config{}, func(p *stage.Post) driver.Driver { return p.Memory })
}

func (s *Scene) process(cfg redlatch.Config, net func(p *stage.Post) driver.Driver) *Process {
	s.Helper()
	p := &Process{scene: s}
	cfg.RestartDelay = -1
	for i, post := range s.Posts {
		c := post.On(s.T, net(post), cfg)
		p.Clients, s.place[c.ID()] = append(p.Clients, c), i
	}
	p.Lock, p.Rival = s.Lock.of(p.Clients), s.Rival.of(p.Clients)
	if s.CanReenter() {
		p.Inside = s.Inside.of(p.Clients)
	}
	s.all = append(s.all, p)
	return p
}

// Owner is the context of one owner in this process.
func (p *Process) Owner() context.Context {
	ctx := p.scene.ctx
	if p.scene.Sort == Cohort {
		return ctx // which has no owners
	}
	for _, c := range p.Clients {
		ctx = c.WithOwner(ctx)
	}
	return ctx
}

// Block takes the lock so that nobody else gets it: in its own way, if that excludes it.
func (p *Process) Block() Taken {
	l, w := p.Lock, p.scene.Lock
	if p.scene.Shared() {
		l, w = p.Rival, p.scene.Rival
	}
	return Taken{check.Must(l.Lock(p.scene.ctx)), w}
}

// Free releases a hold, which must succeed.
func (p *Process) Free(h *redlatch.Hold) {
	p.scene.Helper()
	if err := h.Unlock(p.scene.ctx); err != nil {
		p.scene.Error("Unlock:", err)
	}
}

func (p *Process) Close() error { return p.all((*redlatch.Client).Close) }

func (p *Process) Shutdown() error { return p.all((*redlatch.Client).Shutdown) }

func (p *Process) all(end func(c *redlatch.Client, ctx context.Context) error) error {
	errs := make([]error, len(p.Clients))
	done := make(chan struct{})
	for i, c := range p.Clients {
		go func() { errs[i] = end(c, p.scene.ctx); done <- struct{}{} }()
	}
	for range p.Clients {
		<-done
	}
	return errors.Join(errs...)
}

// Others are the clients of all processes but one.
func (s *Scene) Others(but *Process) (all []*redlatch.Client) {
	for _, p := range s.all {
		if p != but {
			all = append(all, p.Clients...)
		}
	}
	return all
}
