package faults_test

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/fence"
	"github.com/redlatch/redlatch/inspect"
	"github.com/redlatch/redlatch/inspect/doctor"
	"github.com/redlatch/redlatch/leader"
	"github.com/redlatch/redlatch/schedule"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/fixture"
	"github.com/redlatch/redlatch/tests/internal/stage"
	"github.com/redlatch/redlatch/watchdog"
)

// What code of users may do: their work, and their own locks, drivers, log handlers and observers. It ends no process,
// holds up nobody else, and holds no lock for ever.

// deed is what work does in place of its work. The hold is nil for a callback without one.
type deed func(ctx context.Context, c *redlatch.Client, h *redlatch.Hold) error

var errDeed = errors.New("deed")

var deeds = map[string]deed{
	"fails":              func(context.Context, *redlatch.Client, *redlatch.Hold) error { return errDeed },
	"panics":             func(context.Context, *redlatch.Client, *redlatch.Hold) error { panic(errDeed) },
	"ends its goroutine": func(context.Context, *redlatch.Client, *redlatch.Hold) error { runtime.Goexit(); return nil },
	"waits for its end": func(ctx context.Context, _ *redlatch.Client, _ *redlatch.Hold) error {
		<-ctx.Done()
		return ctx.Err()
	},
	"waits for the end of the client": func(_ context.Context, c *redlatch.Client, _ *redlatch.Hold) error {
		for !c.Stats().Closed {
			time.Sleep(time.Second)
		}
		return nil
	},
	"closes the client": func(ctx context.Context, c *redlatch.Client, _ *redlatch.Hold) error { return c.Close(ctx) },
	"shuts the client down": func(ctx context.Context, c *redlatch.Client, _ *redlatch.Hold) error {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		return c.Shutdown(ctx)
	},
	"locks again": func(ctx context.Context, c *redlatch.Client, _ *redlatch.Hold) error {
		for _, ctx := range []context.Context{ctx, context.Background(), c.WithOwner(ctx)} {
			if again, err := c.Mutex("job").Lock(ctx, redlatch.WithWait(time.Second)); err == nil {
				_ = again.Unlock(ctx) // a callback without a hold
			}
		}
		return nil
	},
	"unlocks": func(ctx context.Context, _ *redlatch.Client, h *redlatch.Hold) error {
		if h == nil {
			return nil
		}
		return h.Unlock(ctx)
	},
	"detaches": func(_ context.Context, _ *redlatch.Client, h *redlatch.Hold) error {
		if h != nil {
			h.Detach()
		}
		return nil
	},
}

// works are the ways to have work done under a lock.
var works = map[string]func(ctx context.Context, c *redlatch.Client, do deed){
	"Do": func(ctx context.Context, c *redlatch.Client, do deed) {
		_ = redlatch.Do(ctx, c.Mutex("job"), func(ctx context.Context, h *redlatch.Hold) error { return do(ctx, c, h) })
	},
	"pass of a guard": func(ctx context.Context, c *redlatch.Client, do deed) {
		h, err := fence.Lock(ctx, c.Mutex("job"), func(ctx context.Context, _ int64) error { return do(ctx, c, nil) })
		if err == nil {
			_ = h.Unlock(ctx)
		}
	},
	"a leader": func(ctx context.Context, c *redlatch.Client, do deed) {
		_ = leader.Run(ctx, c.Mutex("job"), leader.Callbacks{Started: func(ctx context.Context, h *redlatch.Hold) { _ = do(ctx, c, h) }})
	},
	"a former leader": func(ctx context.Context, c *redlatch.Client, do deed) {
		_ = leader.Run(ctx, c.Mutex("job"), leader.Callbacks{
			Started: func(context.Context, *redlatch.Hold) {},
			Stopped: func(error) { _ = do(ctx, c, nil) },
		})
	},
	"a candidate": func(ctx context.Context, c *redlatch.Client, do deed) {
		_ = leader.Run(ctx, refusing{c.Mutex("job")}, leader.Callbacks{
			Started: func(context.Context, *redlatch.Hold) {},
			Failed:  func(error) { _ = do(ctx, c, nil) },
		})
	},
	"a job": func(ctx context.Context, c *redlatch.Client, do deed) {
		_ = schedule.Run(ctx, c.Mutex("job"), schedule.Every(time.Minute), schedule.Job{
			Do: func(ctx context.Context, _ time.Time, h *redlatch.Hold) error { return do(ctx, c, h) },
		})
	},
	"an observer of a job": func(ctx context.Context, c *redlatch.Client, do deed) {
		_ = schedule.Run(ctx, c.Mutex("job"), schedule.Every(time.Minute), schedule.Job{
			Do:      func(context.Context, time.Time, *redlatch.Hold) error { return nil },
			Observe: func(schedule.Event) { _ = do(ctx, c, nil) },
		})
	},
}

// refusing is a lock that cannot be had.
type refusing struct{ *redlatch.Mutex }

func (refusing) Lock(context.Context, ...redlatch.LockOption) (*redlatch.Hold, error) {
	return nil, errDeed
}

// Goal: whatever work does, others get the lock after its end, or one lease later, and no goroutine is left. Method: the
// context of the work ends after ten minutes, and the client another ten minutes later. A bubble knows its goroutines.
func TestWorkMayDoAnything(t *testing.T) {
	for work, run := range works {
		for name, do := range deeds {
			t.Run(work+" "+name, func(t *testing.T) {
				stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
					ctx, cancel := context.WithCancel(s.Limited())
					done, did := make(chan struct{}), false
					go func() {
						defer close(done)
						defer func() { _ = recover() }()
						run(ctx, s.Client, func(ctx context.Context, c *redlatch.Client, h *redlatch.Hold) error {
							did = true
							return do(ctx, c, h)
						})
					}()
					time.Sleep(10 * time.Minute)
					cancel()
					time.Sleep(10 * time.Minute)
					_ = s.Client.Close(s.Limited())
					<-done
					time.Sleep(time.Second) // for work that Run has given up
					if !did {
						t.Error("it was not called")
					}
					check.Must(s.Stranger().Mutex("job").Lock(s.Limited(), redlatch.WithWait(31*time.Second)))
				})
			})
		}
	}
}

// nothing is a lock of a user that returns neither a hold nor an error.
type nothing struct{ *redlatch.Mutex }

func (nothing) Lock(context.Context, ...redlatch.LockOption) (*redlatch.Hold, error) { return nil, nil }

func (nothing) TryLock(context.Context, ...redlatch.LockOption) (*redlatch.Hold, error) {
	return nil, nil
}

// Goal: a lock of a user that returns neither a hold nor an error is an error that names it.
func TestALockThatReturnsNothingIsAnError(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		l := nothing{s.Client.Mutex("job")}
		for what, err := range map[string]error{
			"Do":         redlatch.Do(s.Limited(), l, func(context.Context, *redlatch.Hold) error { return nil }),
			"fence.Lock": check.ErrOf(fence.Lock(s.Limited(), l, func(context.Context, int64) error { return nil })),
			"leader.Run": leader.Run(s.Limited(), l, leader.Callbacks{Started: func(context.Context, *redlatch.Hold) {}}),
			"schedule.Run": schedule.Run(s.Limited(), l, schedule.Every(time.Minute),
				schedule.Job{Do: func(context.Context, time.Time, *redlatch.Hold) error { return nil }}),
		} {
			if wrong, is := errors.AsType[*redlatch.ConfigError](err); !is || wrong.Field != "lock" || !strings.Contains(wrong.Reason, `"job", a faults_test.nothing`) {
				t.Errorf("%s: the error is %v, want a ConfigError that names the lock", what, err)
			}
		}
	})
}

// miscounting is a driver of a user that returns another number of replies than of commands, and no listener.
type miscounting struct {
	driver.Driver
	spoil func(replies []driver.Reply) []driver.Reply
}

func (d miscounting) Pipeline(ctx context.Context, commands ...driver.Command) []driver.Reply {
	return d.spoil(d.Driver.Pipeline(ctx, commands...))
}

func (d miscounting) DedicatedPipeline(ctx context.Context, commands ...driver.Command) []driver.Reply {
	return d.spoil(d.Driver.DedicatedPipeline(ctx, commands...))
}

func (miscounting) Listen(context.Context, driver.Events) (driver.Listener, error) { return nil, nil }

// Goal: a driver that breaks its contract costs errors, and no process.
func TestADriverThatBreaksItsContractCostsErrors(t *testing.T) {
	for name, spoil := range map[string]func([]driver.Reply) []driver.Reply{
		"no reply":           func([]driver.Reply) []driver.Reply { return nil },
		"one reply too few":  func(replies []driver.Reply) []driver.Reply { return replies[1:] },
		"one reply too many": func(replies []driver.Reply) []driver.Reply { return append(replies, driver.Reply{}) },
	} {
		t.Run(name, func(t *testing.T) {
			stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
				d := miscounting{s.Driver, spoil}
				c := check.Must(redlatch.New(d, fixture.Quiet(redlatch.Config{Protect: true})))
				held := check.Must(s.Client.Mutex("held").Lock(s.Limited()))
				time.AfterFunc(time.Second, func() { _ = held.Unlock(s.Limited()) })
				waited := check.Must(c.Mutex("held").Lock(s.Limited()))
				check.Is(t, "Unlock", waited.Unlock(s.Limited()), redlatch.ErrUnknownOutcome)
				check.Is(t, "Lock with replicas", check.ErrOf(c.Mutex("job").Lock(s.Limited(), redlatch.WithReplicas(1, time.Second))), redlatch.ErrUnknownOutcome)
				check.Must(c.Mutex("last").Lock(s.Limited()))
				check.Is(t, "Close", c.Close(s.Limited()), redlatch.ErrUnknownOutcome)
				i, ctx := check.Must(inspect.New(d, inspect.Config{})), must2(context.WithTimeout(s.Limited(), time.Minute))
				for _, err := range i.Locks(ctx, "*") {
					if err == nil || !strings.Contains(err.Error(), "replies to 1 commands") {
						t.Error("a walk:", err)
					}
				}
				for range i.Watch(ctx, "job", time.Second) {
				}
				doctor.Examine(s.Limited(), doctor.Config{}, doctor.Target{Driver: d})
			})
		})
	}
}

// failing is a driver that does what it does while that is not nil.
type failing struct {
	driver.Driver
	do *atomic.Pointer[func()]
}

func (d failing) fail() {
	if do := d.do.Load(); do != nil {
		(*do)()
	}
}

func (d failing) Do(ctx context.Context, command driver.Command) driver.Reply {
	d.fail()
	return d.Driver.Do(ctx, command)
}

func (d failing) Pipeline(ctx context.Context, commands ...driver.Command) []driver.Reply {
	d.fail()
	return d.Driver.Pipeline(ctx, commands...)
}

func (d failing) Listen(ctx context.Context, events driver.Events) (driver.Listener, error) {
	d.fail()
	l, err := d.Driver.Listen(ctx, events)
	return failingListener{l, d}, err
}

type failingListener struct {
	driver.Listener
	of failing
}

func (l failingListener) Subscribe(ctx context.Context, channels ...string) error {
	l.of.fail()
	return l.Listener.Subscribe(ctx, channels...)
}

func (l failingListener) Unsubscribe(ctx context.Context, channels ...string) error {
	l.of.fail()
	return l.Listener.Unsubscribe(ctx, channels...)
}

// Goal: a driver that panics, or ends the goroutine that calls it, is an outage. Method: for less than a lease, while a
// hold is renewed and others wait and ask.
func TestADriverThatPanicsIsAnOutage(t *testing.T) {
	for how, do := range map[string]func(){"panics": func() { panic(errDeed) }, "ends its goroutine": runtime.Goexit} {
		stage.EachKind(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage, k stage.Kind) {
			d := failing{s.Driver, new(atomic.Pointer[func()])}
			c := s.On(d, redlatch.Config{Protect: true})
			held, stranger := check.Must(k.Lock(c, "held").Lock(s.Limited())), check.Must(k.Rival(s.Stranger(), "job").Lock(s.Limited()))
			waited := make(chan struct{}, 2)
			for range cap(waited) {
				go func() {
					defer func() { waited <- struct{}{} }()
					if h, err := k.Lock(c, "job").Lock(s.Limited(), redlatch.WithWait(time.Minute)); err == nil {
						_ = h.Unlock(s.Limited())
					}
				}()
			}
			synctest.Wait()
			d.do.Store(&do)
			time.Sleep(15 * time.Second)
			asked := make(chan error, 1)
			go func() {
				err := errDeed
				defer func() { asked <- err }()
				_, err = k.Lock(c, "job").Lock(s.Limited(), redlatch.WithWait(time.Second))
			}()
			check.Is(t, how+": Lock", <-asked, redlatch.ErrUnknownOutcome)
			d.do.Store(nil)
			check.Is(t, how+": Unlock of a stranger", stranger.Unlock(s.Limited()), nil)
			for range cap(waited) {
				<-waited
			}
			time.Sleep(time.Minute)
			check.Is(t, how+": the hold", held.Err(), nil)
			check.Is(t, how+": the next Lock", check.ErrOf(k.Lock(c, "job").Lock(s.Limited(), redlatch.WithWait(time.Minute))), nil)
		})
	}
}

// allergic is a driver that panics at one command.
type allergic struct {
	driver.Driver
	to string
}

func (d allergic) Do(ctx context.Context, command driver.Command) driver.Reply {
	if command.Words[0] == d.to {
		panic(errDeed)
	}
	return d.Driver.Do(ctx, command)
}

// Goal: so is a panic at what a Quorum or the doctor asks of a server, and a watchdog of the pulse of a client that is silent.
func TestAQuestionAtWhichADriverPanicsIsNotAnswered(t *testing.T) {
	stage.Story(t, redlatch.Config{Protect: true}, func(t *testing.T, s *stage.Stage) {
		net, c := s.Tap(), s.On(allergic{s.Driver, "INFO"}, redlatch.Config{})
		if _, err := check.Must(redlatch.NewQuorum(c.Mutex("q"))).Lock(s.Limited()); err == nil || !strings.Contains(err.Error(), "the driver panicked") {
			t.Error("Lock of a quorum:", err)
		}
		doctor.Examine(s.Limited(), doctor.Config{}, doctor.Target{Driver: s.Memory, Sentinels: []doctor.Sentinel{{Driver: allergic{s.Memory, "SENTINEL"}}}})

		check.Must(s.Client.Mutex("job").Lock(s.Limited(), redlatch.WithMaxHold(time.Minute)))
		w, ended := check.Must(watchdog.New(allergic{s.Memory, "PUBSUB"}, watchdog.Config{Logger: slog.New(slog.DiscardHandler)})), make(chan error, 1)
		ctx, cancel := context.WithTimeout(s.Limited(), time.Minute)
		defer cancel()
		net.Set(func(commands []driver.Command, _ stage.Sender) []driver.Reply {
			return stage.FailAll(commands, stage.ErrCut)
		})
		go func() { ended <- w.Run(ctx) }()
		check.Is(t, "Run", <-ended, nil)
		if w.Stats().Failures == 0 {
			t.Error("it asked nothing")
		}
		net.Set(nil)
	})
}

// Goal: a log handler that hangs, panics or ends its goroutine holds up no wait and no Close, and observers are told of all
// that comes after it. Method: the server lets nobody publish or listen, and a hold is lost.
func TestALogHandlerMayDoAnything(t *testing.T) {
	for name, do := range map[string]func(stuck chan struct{}){
		"hangs": func(stuck chan struct{}) { <-stuck }, "panics": func(chan struct{}) { panic(errDeed) }, "ends its goroutine": func(chan struct{}) { runtime.Goexit() },
	} {
		t.Run(name, func(t *testing.T) {
			stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
				stuck, logged := make(chan struct{}), new(atomic.Int64)
				defer synctest.Wait()
				defer close(stuck)
				c := s.On(deaf{s.Driver}, redlatch.Config{PollCap: time.Second, Protect: true, Logger: slog.New(busy{fixture.LogHandler(func(string) { logged.Add(1); do(stuck) })})})
				lost := check.Must(c.Mutex("lost").Lock(s.Limited(), redlatch.WithLease(time.Second)))
				held := check.Must(s.Client.Mutex("job").Lock(s.Limited()))
				time.AfterFunc(time.Minute, func() { _ = held.Unlock(s.Limited()) })
				got := check.Must(c.Mutex("job").Lock(s.Limited(), redlatch.WithWait(2*time.Minute)))
				check.Is(t, "the hold that is lost", lost.Err(), redlatch.ErrLost)
				check.Is(t, "Unlock", got.Unlock(s.Limited()), nil)
				ctx, cancel := context.WithTimeout(s.Limited(), time.Minute)
				defer cancel()
				check.Is(t, "Close", c.Close(ctx), nil)
				if n := logged.Load(); n < 10 && name != "hangs" {
					t.Errorf("the log was told %d times", n)
				}
			})
		})
	}
}

// busy is a log handler that does the same whenever it is called.
type busy struct{ fixture.LogHandler }

func (b busy) WithAttrs([]slog.Attr) slog.Handler { b.LogHandler("with"); return b }

// deaf is a driver without messages.
type deaf struct{ driver.Driver }

func (deaf) Listen(context.Context, driver.Events) (driver.Listener, error) { return nil, errDeed }

// Goal: a watchdog does not wait for a log handler that hangs. Method: Redis does not answer for a while.
func TestAWatchdogDoesNotWaitForItsLogHandler(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		net, stuck, ended := s.Tap(), make(chan struct{}), make(chan error, 1)
		defer synctest.Wait()
		defer close(stuck)
		w := check.Must(watchdog.New(s.Driver, watchdog.Config{Logger: slog.New(fixture.LogHandler(func(string) { <-stuck }))}))
		ctx, cancel := context.WithCancel(s.Limited())
		go func() { ended <- w.Run(ctx) }()
		net.Set(func(commands []driver.Command, _ stage.Sender) []driver.Reply {
			return stage.FailAll(commands, stage.ErrCut)
		})
		time.Sleep(10 * time.Second)
		net.Set(nil)
		before := w.Stats().Looks
		time.Sleep(10 * time.Second)
		if w.Stats().Looks == before {
			t.Error("it does not look any more")
		}
		cancel()
		time.Sleep(10 * time.Second)
		if len(ended) == 0 {
			t.Error("Run does not end")
		}
	})
}

// Goal: a lock whose acquisition an observer is told of when it ends the goroutine is free, and no caller waits on.
func TestAnObserverThatEndsTheCallerLeavesTheLock(t *testing.T) {
	ways := maps.Clone(stage.Ways)
	quorum := ways["mutex"]
	quorum.Of = func(c *redlatch.Client, name string) redlatch.Lock {
		return check.Must(redlatch.NewQuorum(c.Mutex(name)))
	}
	ways["quorum"] = quorum
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
				c := s.Other(redlatch.Config{RestartDelay: -1, Observer: fixture.Observer(func(_ context.Context, e redlatch.Event) {
					if e.Kind == redlatch.EventAcquired {
						runtime.Goexit()
					}
				})})
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					_, _ = way.Of(c, "job").Lock(s.Limited(), way.Opts...)
				}()
				time.Sleep(2 * time.Minute) // for a cohort
				select {
				case <-ended:
				default:
					t.Error("Lock goes on")
				}
				if keys := s.Memory.Miniredis().Keys(); slices.Contains(keys, "job") || c.Stats().Holds > 0 {
					t.Errorf("%q stay in Redis: %+v", keys, c.Stats())
				}
			})
		})
	}
}

// Goal: an observer that ends its goroutine, as FailNow of a test does, is told of all that comes later.
func TestAnObserverThatEndsItsGoroutineIsToldOfTheRest(t *testing.T) {
	var told []string
	observer := fixture.Observer(func(_ context.Context, e redlatch.Event) {
		if e.Kind == redlatch.EventLost {
			told = append(told, e.Lock)
			runtime.Goexit()
		}
	})
	stage.Story(t, redlatch.Config{Observer: observer}, func(t *testing.T, s *stage.Stage) {
		for _, name := range []string{"a", "b"} {
			<-check.Must(s.Client.Mutex(name).Lock(s.Limited(), redlatch.WithLease(time.Second))).Done()
			synctest.Wait()
		}
		if !slices.Equal(told, []string{"a", "b"}) {
			t.Errorf("it was told of %q", told)
		}
	})
}

// Goal: an observer that ends the goroutine of a release keeps no Unlock from returning, nor from reporting a release that failed.
// Method: members of two clients, which are released by goroutines of their own, and those of an owner; a dead server.
func TestAnObserverThatEndsAReleaseHoldsUpNoUnlock(t *testing.T) {
	for _, how := range []struct{ owned, dead bool }{{false, false}, {true, false}, {false, true}, {true, true}} {
		stage.Bubble(t, func(t *testing.T, ctx context.Context) {
			cfg := redlatch.Config{Observer: fixture.Observer(func(_ context.Context, e redlatch.Event) {
				if e.Kind == redlatch.EventReleased {
					runtime.Goexit()
				}
			})}
			all := stage.Posts(t, 2, cfg)
			owner := ctx
			for _, p := range all {
				if how.owned {
					owner = p.Client.WithOwner(owner)
				}
			}
			h := check.Must(check.Must(redlatch.NewMulti(append(stage.LocksOf(all, "a"), stage.LocksOf(all, "b")...)...)).Lock(owner))
			if how.dead {
				all[1].Set(stage.Dead)
			}
			ended := make(chan error, 1)
			go func() { ended <- h.Unlock(ctx) }()
			select {
			case err := <-ended:
				if (err != nil) != how.dead {
					t.Errorf("%+v: %v", how, err)
				}
			case <-time.After(time.Hour):
				t.Error("Unlock goes on")
			}
			for i, p := range all {
				if keys := p.Memory.Miniredis().Keys(); len(keys) > 0 != (how.dead && i == 1) {
					t.Errorf("%+v: server %d has %q", how, i, keys)
				}
			}
		})
	}
}

// Goal: a member of a quorum that another one has is taken when it is free, though the observer has ended the goroutine that
// took it before.
func TestAnObserverThatEndsAnAcquisitionCostsAQuorumNoMember(t *testing.T) {
	stage.Bubble(t, func(t *testing.T, ctx context.Context) {
		var acquired atomic.Int64
		all := stage.Posts(t, 3, redlatch.Config{RestartDelay: -1, Observer: fixture.Observer(func(_ context.Context, e redlatch.Event) {
			if e.Kind == redlatch.EventAcquired && acquired.Add(1) == 3 {
				runtime.Goexit()
			}
		})})
		rival := check.Must(all[2].On(t, all[2].Memory, redlatch.Config{}).Mutex("job").Lock(ctx))
		h := check.Must(check.Must(redlatch.NewQuorum(stage.LocksOf(all, "job")...)).Lock(ctx))
		time.Sleep(time.Minute)
		_ = rival.Unlock(ctx)
		time.Sleep(2 * time.Minute)
		if n := len(h.Members()); n != 3 || acquired.Load() != 4 {
			t.Errorf("%d members, after %d acquisitions", n, acquired.Load())
		}
		_ = h.Unlock(ctx)
	})
}
