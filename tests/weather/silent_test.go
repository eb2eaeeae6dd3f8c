package weather_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2/server"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/memory"
	"github.com/redlatch/redlatch/fence"
	"github.com/redlatch/redlatch/inspect"
	"github.com/redlatch/redlatch/inspect/blocked"
	"github.com/redlatch/redlatch/inspect/doctor"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/leader"
	"github.com/redlatch/redlatch/schedule"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/fixture"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// Servers in a bubble of fake time that fall silent: they accept connections, and answer nothing.

// silent is a server that can fall silent.
type silent struct {
	*memory.Driver
	mu    sync.Mutex
	until chan struct{} // closed at the end of the silence; nil without
}

func newSilent(t *testing.T, ctx context.Context) *silent {
	s := &silent{Driver: check.Must(memory.Open(ctx, memory.Options{}))}
	s.Miniredis().Server().SetPreHook(func(*server.Peer, string, ...string) bool {
		s.mu.Lock()
		until := s.until
		s.mu.Unlock()
		if until != nil {
			<-until
		}
		return false
	})
	t.Cleanup(func() { s.speak(); s.Close() })
	return s
}

// fall makes the server silent. What it is asked meanwhile it carries out when it speaks again.
func (s *silent) fall() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.until = make(chan struct{})
}

func (s *silent) speak() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.until != nil {
		close(s.until)
		s.until = nil
	}
}

// The settings of all clients here.
const (
	within = 3 * time.Second // of a request, and of a release
	lease  = 30 * time.Second
	grace  = 25 * time.Millisecond // for which a caller whose time is up waits for a release
)

// beginning does what comes before a silence, and returns the call that meets it.
type beginning func(ctx context.Context, c *redlatch.Client) (call func() error)

// plainly is the beginning of a call that needs none.
func plainly(call func(ctx context.Context, c *redlatch.Client) error) beginning {
	return func(ctx context.Context, c *redlatch.Client) func() error {
		return func() error { return call(ctx, c) }
	}
}

// silences are calls to a server that has fallen silent, or falls silent under them: how long each may take, and what its
// error matches.
var silences = map[string]struct {
	protect bool
	begin   beginning
	within  time.Duration
	want    []error
}{
	"Do": {false, plainly(func(ctx context.Context, c *redlatch.Client) error {
		return redlatch.Do(ctx, c.Mutex("job"), func(context.Context, *redlatch.Hold) error { return nil })
	}), within + grace, []error{redlatch.ErrUnknownOutcome, redlatch.ErrNotCalled}},
	"Do, in its function": {false, func(ctx context.Context, c *redlatch.Client) func() error {
		return inside(func(work func(ctx context.Context)) error {
			return redlatch.Do(ctx, c.Mutex("job"), func(ctx context.Context, _ *redlatch.Hold) error { work(ctx); return nil })
		}, false)
	}, within, []error{redlatch.ErrUnknownOutcome}},
	"a candidate for leadership": {false, plainly(func(ctx context.Context, c *redlatch.Client) (failed error) {
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		err := leader.Run(ctx, c.Mutex("job"), leader.Callbacks{Started: func(context.Context, *redlatch.Hold) {}, Failed: func(err error) { failed = err }})
		return errors.Join(err, failed)
	}), 10*time.Second + grace, []error{context.DeadlineExceeded, driver.ErrNoConnection}},
	"a leader": {false, func(ctx context.Context, c *redlatch.Client) func() error {
		ctx, cancel := context.WithCancel(ctx)
		return inside(func(work func(ctx context.Context)) (lost error) {
			err := leader.Run(ctx, c.Mutex("job"), leader.Callbacks{
				Started: func(ctx context.Context, _ *redlatch.Hold) { work(ctx) },
				Stopped: func(err error) { lost = err; cancel() },
			})
			return errors.Join(err, lost)
		}, true)
	}, lease, []error{context.Canceled, redlatch.ErrLost}},
	"a job that is due": {false, plainly(func(ctx context.Context, c *redlatch.Client) error { return runJob(ctx, c, nil) }),
		time.Minute + 10*time.Second + grace, []error{driver.ErrNoConnection}},
	"a job": {false, func(ctx context.Context, c *redlatch.Client) func() error {
		return inside(func(work func(ctx context.Context)) error { return runJob(ctx, c, work) }, true)
	}, lease, []error{redlatch.ErrLost}},
	"Inspector.Lock": {false, plainly(func(ctx context.Context, c *redlatch.Client) error {
		return check.ErrOf(check.Must(inspect.New(c.Driver(), inspect.Config{})).Lock(ctx, "job"))
	}), within, nil},
	"Inspector.Locks": {false, plainly(func(ctx context.Context, c *redlatch.Client) (last error) {
		for _, err := range check.Must(inspect.New(c.Driver(), inspect.Config{})).Locks(ctx, "*") {
			last = err
		}
		return last
	}), 2 * within, nil}, // two scans
	"Inspector.Counter": {false, plainly(func(ctx context.Context, c *redlatch.Client) error {
		return check.ErrOf(check.Must(inspect.New(c.Driver(), inspect.Config{})).Counter(ctx, "job"))
	}), within, nil},
	"fence.Redis": {false, plainly(func(ctx context.Context, c *redlatch.Client) error {
		return fence.Redis{Driver: c.Driver(), Keep: time.Minute}.Pass(ctx, 1, "order:7")
	}), within, nil},
	"Unlock of a Multi": {false, func(ctx context.Context, c *redlatch.Client) func() error {
		h := check.Must(check.Must(redlatch.NewMulti(fixture.Mutexes(c, "a", "b", "c", "d")...)).Lock(ctx))
		return func() error { return h.Unlock(ctx) }
	}, within, []error{redlatch.ErrUnknownOutcome}},
	"Unlock of a Multi of an owner": {false, func(ctx context.Context, c *redlatch.Client) func() error {
		h := check.Must(check.Must(redlatch.NewMulti(fixture.Mutexes(c, "a", "b", "c", "d")...)).Lock(c.WithOwner(ctx)))
		return func() error { return h.Unlock(ctx) }
	}, within, []error{redlatch.ErrUnknownOutcome}},
	"Lock of a Multi with an end": {false, func(ctx context.Context, c *redlatch.Client) func() error {
		return func() error {
			return check.ErrOf(check.Must(redlatch.NewMulti(fixture.Mutexes(c, "a", "b", "c", "d")...)).Lock(ctx, redlatch.WithMaxHold(time.Hour)))
		}
	}, 2*within + grace, nil},
	"Lock, protected": {true, plainly(func(ctx context.Context, c *redlatch.Client) error {
		return check.ErrOf(c.Mutex("job").Lock(ctx))
	}), 2*within + grace, []error{driver.ErrNoConnection}},
	"Unlock, protected": {true, func(ctx context.Context, c *redlatch.Client) func() error {
		h := check.Must(c.Mutex("job").Lock(ctx))
		return func() error { return h.Unlock(ctx) }
	}, within, []error{redlatch.ErrUnknownOutcome}},
	"Close of a holder, protected": {true, func(ctx context.Context, c *redlatch.Client) func() error {
		check.Must(c.Mutex("job").Lock(ctx))
		return func() error { return c.Close(ctx) }
	}, 2 * within, nil},
	"Close in the first Lock, protected": {true, plainly(closeIn), within, []error{redlatch.ErrClosed}},
	"Close in a Lock, protected": {true, func(ctx context.Context, c *redlatch.Client) func() error {
		check.Must(0, check.Must(c.Mutex("other").Lock(ctx)).Unlock(ctx))
		return func() error { return closeIn(ctx, c) }
	}, 2*within + grace, []error{redlatch.ErrUnknownOutcome}},
}

// closeIn closes a client while it takes a lock.
func closeIn(ctx context.Context, c *redlatch.Client) error {
	taken := make(chan error, 1)
	go func() { taken <- check.ErrOf(c.Mutex("job").Lock(ctx)) }()
	synctest.Wait()
	return errors.Join(c.Close(ctx), <-taken)
}

// inside makes a call that has begun its work before the server is silent. It ends when its work does: at once, or when
// its context has ended.
func inside(begin func(work func(ctx context.Context)) error, lasts bool) (call func() error) {
	began, end, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		done <- begin(func(ctx context.Context) {
			close(began)
			<-end
			if lasts {
				<-ctx.Done()
			}
		})
	}()
	<-began
	return func() error { close(end); return <-done }
}

// runJob runs a job each minute until the first event, and returns the error of that.
func runJob(ctx context.Context, c *redlatch.Client, work func(ctx context.Context)) (told error) {
	ctx, cancel := context.WithCancel(ctx)
	_ = schedule.Run(ctx, c.Mutex("job"), schedule.Every(time.Minute), schedule.Job{
		Do:      func(ctx context.Context, _ time.Time, _ *redlatch.Hold) error { work(ctx); return nil },
		AtLeast: 20 * time.Second,
		Observe: func(e schedule.Event) { told = e.Err; cancel() },
	})
	return told
}

// Goal: each call ends in its time when the server falls silent, with an error that says so, and nothing is left when the
// server speaks again.
func TestCallsToAServerThatFallsSilent(t *testing.T) {
	t.Parallel()
	for what, c := range silences {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			stage.Bubble(t, func(t *testing.T, ctx context.Context) {
				ctx, cancel := context.WithTimeout(ctx, time.Hour)
				defer cancel()
				s := newSilent(t, ctx)
				client := check.Must(redlatch.New(s.Driver, fixture.Quiet(redlatch.Config{Protect: c.protect})))
				call := c.begin(ctx, client)
				synctest.Wait()
				s.fall()
				began := time.Now()
				err := call()
				check.Within(t, "the call", time.Since(began), 1, c.within)
				check.Is(t, "the call", err, c.want...)
				if err == nil || errors.Is(err, redlatch.ErrNotAcquired) {
					t.Errorf("the silence became %v", err)
				}
				closed := client.Stats().Closed // and could not remove its session, which a watchdog does
				s.speak()
				time.Sleep(lease)
				_ = client.Close(ctx)
				time.Sleep(2 * lease)
				left := slices.DeleteFunc(s.Miniredis().Keys(), func(key string) bool {
					return key == protocol.TokenKey("job") || key == protocol.RunsKey("job") && s.Miniredis().TTL(key) > 0 ||
						key == protocol.Sessions && closed
				})
				if st := client.Stats(); len(left) > 0 || st.Holds != 0 || st.Waiters != 0 || st.Subscriptions != 0 {
					t.Errorf("left over: %q, %+v", left, st)
				}
			})
		})
	}
}

// readings read what a server has of locks. None changes anything.
var readings = map[string]func(ctx context.Context, d driver.Driver, i *inspect.Inspector) error{
	"Audit": func(ctx context.Context, _ driver.Driver, i *inspect.Inspector) error {
		return lastOf(i.Audit(ctx, "*"))
	},
	"Locks": func(ctx context.Context, _ driver.Driver, i *inspect.Inspector) error {
		return lastOf(i.Locks(ctx, "*"))
	},
	"Permits": func(ctx context.Context, _ driver.Driver, i *inspect.Inspector) error {
		return lastOf(i.Permits(ctx, "*"))
	},
	"Lock": func(ctx context.Context, _ driver.Driver, i *inspect.Inspector) error {
		return check.ErrOf(i.Lock(ctx, "job"))
	},
	"Counter": func(ctx context.Context, _ driver.Driver, i *inspect.Inspector) error {
		return check.ErrOf(i.Counter(ctx, "job"))
	},
	"Watch": func(ctx context.Context, _ driver.Driver, i *inspect.Inspector) error {
		return firstOf(i.Watch(ctx, "job", time.Second))
	},
	"Follow": func(ctx context.Context, _ driver.Driver, i *inspect.Inspector) error {
		return firstOf(i.Follow(ctx, "*", time.Second))
	},
	"blocked.Read": func(ctx context.Context, d driver.Driver, _ *inspect.Inspector) error {
		return check.ErrOf(blocked.Read(ctx, d, blocked.Options{}))
	},
	"doctor.Examine": func(ctx context.Context, d driver.Driver, _ *inspect.Inspector) error {
		target := doctor.Target{Driver: d, Master: "m", Sentinels: []doctor.Sentinel{{Driver: d}, {Driver: d}}}
		if all := doctor.Examine(ctx, doctor.Config{}, target); !slices.ContainsFunc(all, func(c doctor.Check) bool { return c.Severity == doctor.Unknown || c.Severity == doctor.Danger }) {
			return nil
		}
		return errors.New("not all is well")
	},
}

func lastOf[T any](all iter.Seq2[T, error]) (last error) {
	for _, last = range all {
	}
	return last
}

func firstOf[T any](all iter.Seq2[T, error]) error {
	for _, err := range all {
		return err
	}
	return errors.New("it has ended")
}

// Goal: whoever reads the locks of a server that falls silent learns that in its time, and soon without one.
func TestReadersOfAServerThatFallsSilent(t *testing.T) {
	t.Parallel()
	for what, read := range readings {
		for _, most := range []time.Duration{time.Second, time.Hour} {
			t.Run(fmt.Sprint(what, " ", most), func(t *testing.T) {
				t.Parallel()
				stage.Bubble(t, func(t *testing.T, ctx context.Context) {
					s := newSilent(t, ctx)
					i := check.Must(inspect.New(s.Driver, inspect.Config{}))
					s.fall()
					limited, cancel := context.WithTimeout(ctx, most)
					defer cancel()
					began := time.Now()
					err := read(limited, s.Driver, i)
					check.Within(t, "the call", time.Since(began), 1, min(most, 4*within))
					if err == nil {
						t.Error("it has seen nothing")
					}
					s.speak()
					synctest.Wait()
				})
			})
		}
	}
}

// shards is the driver of a Cluster of two servers. The second has the slots with an odd number.
type shards struct {
	driver.Driver
	servers [2]*silent
}

func newShards(t *testing.T, ctx context.Context) *shards {
	s := &shards{servers: [2]*silent{newSilent(t, ctx), newSilent(t, ctx)}}
	s.Driver = s.servers[1].Driver // which has all messages
	return s
}

func (s *shards) Shard(key string) string { return strconv.Itoa(driver.Slot(key) % 2) }
func (s *shards) ShardMessages() bool     { return false }

func (s *shards) Do(ctx context.Context, c driver.Command) driver.Reply { return s.Pipeline(ctx, c)[0] }

func (s *shards) Pipeline(ctx context.Context, commands ...driver.Command) []driver.Reply {
	replies := make([]driver.Reply, len(commands))
	var asking sync.WaitGroup
	for at, server := range s.servers {
		asking.Go(func() {
			var numbers []int
			var part []driver.Command
			for i, c := range commands {
				if driver.Slot(c.Key)%2 == at {
					numbers, part = append(numbers, i), append(part, c)
				}
			}
			for i, reply := range server.Pipeline(ctx, part...) {
				replies[numbers[i]] = reply
			}
		})
	}
	asking.Wait()
	return replies
}

// on is a name whose key lies on one of the servers.
func on(at int, name string) string {
	for i := 0; ; i++ {
		if key := fmt.Sprint(name, i); driver.Slot(key)%2 == at {
			return key
		}
	}
}

// Goal: a shard that falls silent costs the locks of the others nothing, also if it has the session of a protected client. Method: one of two servers, each with a lock, is silent.
func TestAShardThatFallsSilentCostsTheOthersNothing(t *testing.T) {
	t.Parallel()
	for _, protect := range []bool{false, true} {
		stage.Bubble(t, func(t *testing.T, ctx context.Context) {
			ctx, cancel := context.WithTimeout(ctx, time.Hour)
			defer cancel()
			s := newShards(t, ctx)
			c := check.Must(redlatch.New(s, fixture.Quiet(redlatch.Config{Protect: protect})))
			far := driver.Slot(protocol.SessionKey(c.ID())) % 2 // the server of the session
			near := 1 - far
			own, other := c.Mutex(on(near, "own")), c.Mutex(on(near, "other"))
			h, lost := check.Must(own.Lock(ctx)), check.Must(c.Mutex(on(far, "lost")).Lock(ctx))
			mine, reentered := c.WithOwner(ctx), c.Mutex(on(near, "reentered"))
			check.Must(reentered.Lock(mine, redlatch.WithMaxHold(time.Hour)))
			inner := check.Must(reentered.Lock(mine)) // without it, the lock has a limit
			waited := make(chan *redlatch.Hold, 1)
			go func() { waited <- check.Must(own.Lock(ctx)) }()
			synctest.Wait()
			s.servers[far].fall()
			began := time.Now()
			check.Is(t, "Unlock of an inner hold", inner.Unlock(ctx), nil)
			check.Is(t, "Unlock beside a waiter", h.Unlock(ctx), nil)
			check.Is(t, "Unlock", (<-waited).Unlock(ctx), nil)
			if s.servers[near].Miniredis().Exists(own.Name()) {
				t.Error("the lock stays")
			}
			if took := time.Since(began); took > 0 {
				t.Errorf("protected %v: a release at a shard that answers took %v", protect, took)
			}
			began = time.Now()
			check.Is(t, "Unlock at the shard that is silent", lost.Unlock(ctx), redlatch.ErrUnknownOutcome)
			check.Within(t, "Unlock at the shard that is silent", time.Since(began), 1, within)
			began = time.Now()
			check.Is(t, "TryLock at the shard that is silent", check.ErrOf(c.Mutex(on(far, "free")).TryLock(ctx)), driver.ErrNoConnection)
			check.Within(t, "TryLock at the shard that is silent", time.Since(began), 1, within+grace)
			began = time.Now()
			h = check.Must(other.Lock(ctx))
			if took := time.Since(began); took > 0 {
				t.Errorf("protected %v: an acquisition at a shard that answers took %v", protect, took)
			}
			began = time.Now()
			check.Is(t, "Unlock", h.Unlock(ctx), nil)
			if took := time.Since(began); took > 0 {
				t.Errorf("protected %v: a release at a shard that answers took %v", protect, took)
			}
			s.servers[far].speak()
			time.Sleep(lease)
			check.Is(t, "Close", c.Close(ctx), nil)
			time.Sleep(2 * lease)
			for i, server := range s.servers {
				if left := server.Miniredis().Keys(); len(left) > 0 {
					t.Errorf("left over on %d: %q", i, left)
				}
			}
		})
	}
}

// Goal: a waiter for a member of a Multi enters when that member is released, although the server of another one is silent.
func TestASilentShardOfAMultiHoldsUpNoWaiterOfAnother(t *testing.T) {
	t.Parallel()
	for silent := range 2 {
		stage.Bubble(t, func(t *testing.T, ctx context.Context) {
			s := newShards(t, ctx)
			c := check.Must(redlatch.New(s, fixture.Quiet(redlatch.Config{})))
			wanted := c.Mutex(on(1-silent, "wanted"))
			both := check.Must(check.Must(redlatch.NewMulti(wanted, c.Mutex(on(silent, "lost")))).Lock(ctx))
			waited := make(chan *redlatch.Hold, 1)
			go func() { waited <- check.Must(wanted.Lock(ctx)) }()
			synctest.Wait()
			s.servers[silent].fall()
			began, unlocked := time.Now(), make(chan error, 1)
			go func() { unlocked <- both.Unlock(ctx) }()
			h := <-waited
			if took := time.Since(began); took > 0 {
				t.Errorf("who waits for the member that was released entered %v later", took)
			}
			check.Is(t, "Unlock", <-unlocked, redlatch.ErrUnknownOutcome)
			check.Is(t, "Unlock", h.Unlock(ctx), nil)
			s.servers[silent].speak()
			time.Sleep(lease)
			check.Is(t, "Close", c.Close(ctx), nil)
		})
	}
}
