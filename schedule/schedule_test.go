package schedule_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/redlatchtest"
	"github.com/redlatch/redlatch/schedule"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// machine runs a job, and notes what happened.
type machine struct {
	lock  *redlatch.Mutex
	times schedule.Times
	job   schedule.Job
	skew  atomic.Int64 // how far its clock is ahead
	stop  context.CancelFunc
	done  chan error

	mu     sync.Mutex
	events []schedule.Event
}

// fleet is several machines, whose job takes a time.
type fleet struct {
	machines []*machine

	mu      sync.Mutex
	running int
	most    int
	ran     []time.Time // the times that were run
}

// newFleet makes machines with a job every minute that takes that long.
func newFleet(s *redlatchtest.Server, machines int, takes time.Duration) *fleet {
	f := &fleet{}
	for range machines {
		f.add(s.Client(redlatch.Config{}), takes)
	}
	return f
}

// add adds a machine.
func (f *fleet) add(client *redlatch.Client, takes time.Duration) *machine {
	m := &machine{lock: client.Mutex("job"), times: schedule.Every(time.Minute), done: make(chan error, 1)}
	m.job = schedule.Job{
		Do: func(ctx context.Context, due time.Time, _ *redlatch.Hold) error {
			f.begin(due)
			defer f.end()
			select {
			case <-time.After(takes):
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		},
		Observe: func(e schedule.Event) {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.events = append(m.events, e)
		},
	}
	f.machines = append(f.machines, m)
	return m
}

func (f *fleet) begin(due time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.running++
	f.most = max(f.most, f.running)
	f.ran = append(f.ran, due)
}

func (f *fleet) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.running--
}

// runs are the times that were run, in order.
func (f *fleet) runs() []time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.SortedFunc(slices.Values(f.ran), time.Time.Compare)
}

// together is how many runs went on at a time, at most.
func (f *fleet) together() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.most
}

// start starts all machines, until the end of the test.
func (f *fleet) start(t *testing.T) *fleet {
	for _, m := range f.machines {
		m.start(t)
	}
	return f
}

func (m *machine) start(t *testing.T) { m.startUnder(t, t.Context()) }

func (m *machine) startUnder(t *testing.T, ctx context.Context) {
	ctx, stop := context.WithCancel(ctx)
	m.stop = stop
	var run sync.WaitGroup
	clock := func() time.Time { return time.Now().Add(time.Duration(m.skew.Load())) }
	run.Go(func() { m.done <- schedule.RunWithClock(ctx, clock, m.lock, m.times, m.job) })
	t.Cleanup(func() { stop(); run.Wait() })
}

// seen are the events of a kind.
func (m *machine) seen(kind schedule.EventKind) (all []schedule.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range m.events {
		if e.Kind == kind {
			all = append(all, e)
		}
	}
	return all
}

// bubble runs a test in fake time, which begins at midnight.
func bubble(t *testing.T, test func(t *testing.T, s *redlatchtest.Server)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { test(t, redlatchtest.NewServer(t)) })
}

// once checks that every time was run once, and no two together.
func (f *fleet) once(t *testing.T, want int) {
	t.Helper()
	runs := f.runs()
	if len(slices.Compact(slices.Clone(runs))) != len(runs) {
		t.Errorf("a time was run twice: %v", runs)
	}
	if len(runs) != want {
		t.Errorf("%d runs, want %d", len(runs), want)
	}
	if n := f.together(); n != min(want, 1) {
		t.Errorf("%d runs at a time", n)
	}
}

// Goal: each time is run once, by one of four machines, and each machine says what became of it.
func TestEachTimeIsRunOnce(t *testing.T) {
	for _, takes := range []time.Duration{0, 30 * time.Second} {
		t.Run(fmt.Sprint(takes), func(t *testing.T) {
			bubble(t, func(t *testing.T, s *redlatchtest.Server) {
				f := newFleet(s, 4, takes).start(t)
				time.Sleep(20*time.Minute + 45*time.Second)
				f.once(t, 20)
				var tokens []int64
				for _, m := range f.machines {
					for _, e := range m.seen(schedule.Ran) {
						tokens = append(tokens, e.Token)
						if e.Err != nil || e.Took != takes || e.Late > 100*time.Millisecond || e.Lock != "job" {
							t.Errorf("a run: %+v", e)
						}
					}
					for _, e := range m.seen(schedule.Elsewhere) {
						if !errors.Is(e.Err, redlatch.ErrNotAcquired) {
							t.Errorf("left to another machine: %+v", e)
						}
					}
					if n := len(m.seen(schedule.Ran)) + len(m.seen(schedule.Elsewhere)); n != 20 || len(m.seen(schedule.Missed)) > 0 {
						t.Errorf("a machine told of %d times", n)
					}
				}
				slices.Sort(tokens)
				if len(slices.Compact(tokens)) != 20 {
					t.Errorf("the tokens are %v", tokens)
				}
			})
		})
	}
}

// gocron #841, ShedLock: a short job is run twice, because the clocks of two machines differ by more
// than it takes. A difference of more than AtLeast costs times at most: both machines may be at different times.
func TestClocksMayDiffer(t *testing.T) {
	for _, skew := range []time.Duration{0, 4900 * time.Millisecond, -4900 * time.Millisecond, 12 * time.Second, 5*time.Minute + 20*time.Second} {
		t.Run(fmt.Sprint(skew), func(t *testing.T) {
			bubble(t, func(t *testing.T, s *redlatchtest.Server) {
				f := newFleet(s, 2, time.Millisecond)
				f.machines[1].skew.Store(int64(skew))
				time.Sleep(20 * time.Second) // past midnight on both
				f.start(t)
				time.Sleep(10 * time.Minute)
				f.once(t, 10+int(skew/(5*time.Minute))*5)
			})
		})
	}
}

// A clock that is set forward misses times, and one that is set back does not run them again within
// AtLeast, and does not sleep until it has caught up.
func TestClocksMayJump(t *testing.T) {
	bubble(t, func(t *testing.T, s *redlatchtest.Server) {
		f := newFleet(s, 1, time.Millisecond).start(t)
		m := f.machines[0]
		time.Sleep(90 * time.Second) // ran at 1
		m.skew.Store(int64(365 * 24 * time.Hour))
		time.Sleep(time.Minute) // missed a year
		if missed := m.seen(schedule.Missed); len(missed) != 1 || !errors.Is(missed[0].Err, schedule.ErrLate) || missed[0].Until.Sub(missed[0].Due) != 365*24*time.Hour {
			t.Fatalf("missed: %+v", missed)
		}
		m.skew.Store(0)
		time.Sleep(10 * time.Minute)
		if runs := len(m.seen(schedule.Ran)); runs < 10 || runs > 12 {
			t.Errorf("%d runs: %v", runs, f.runs())
		}
		m.skew.Store(int64(-2 * time.Second)) // less than half of AtLeast
		time.Sleep(10 * time.Minute)
		if runs := f.runs(); len(slices.Compact(slices.Clone(runs))) != len(runs) {
			t.Errorf("a time was run twice: %v", runs)
		}
	})
}

// Goal: a job that takes longer than the time between two runs is not run twice at a time, on
// whatever machine, and the runs that it costs are told.
func TestAJobThatOverruns(t *testing.T) {
	bubble(t, func(t *testing.T, s *redlatchtest.Server) {
		f := newFleet(s, 3, 150*time.Second).start(t)
		time.Sleep(30*time.Minute + 10*time.Second)
		if n := f.together(); n != 1 {
			t.Errorf("%d runs at a time", n)
		}
		if runs := len(f.runs()); runs < 8 || runs > 12 {
			t.Errorf("%d runs in 30 minutes", runs)
		}
		for _, m := range f.machines {
			ran, missed := m.seen(schedule.Ran), m.seen(schedule.Missed)
			for _, e := range missed {
				if !errors.Is(e.Err, schedule.ErrOverrun) || !e.Until.After(e.Due) {
					t.Errorf("missed: %+v", e)
				}
			}
			if len(missed) < len(ran)-1 {
				t.Errorf("%d runs, and %d times that were missed", len(ran), len(missed))
			}
		}
	})
}

// Goal: a run has a longest time, which its job has, or its client. It ends before that if somebody asks for the lock.
func TestARunHasALongestTime(t *testing.T) {
	for of, limit := range map[string]func(m *machine, s *redlatchtest.Server){
		"job": func(m *machine, _ *redlatchtest.Server) { m.job.AtMost = 40 * time.Second },
		"client": func(m *machine, s *redlatchtest.Server) {
			m.lock = s.Client(redlatch.Config{MaxHold: 40 * time.Second}).Mutex("job")
		},
		"operator": func(m *machine, s *redlatchtest.Server) {
			lock, do := s.Client(redlatch.Config{}).Mutex("job"), m.job.Do
			m.job.Do = func(ctx context.Context, due time.Time, h *redlatch.Hold) error {
				asking := time.AfterFunc(35*time.Second, func() { _, _ = lock.Recall(ctx, h.Owner(), "") })
				defer asking.Stop()
				return do(ctx, due, h)
			}
		},
	} {
		want := redlatch.ErrLost
		if of == "operator" {
			want = redlatch.ErrRecalled
		}
		t.Run(of, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *redlatchtest.Server) {
				f := newFleet(s, 1, time.Hour)
				limit(f.machines[0], s)
				f.start(t)
				time.Sleep(5*time.Minute + 50*time.Second)
				f.once(t, 5)
				for _, e := range f.machines[0].seen(schedule.Ran) {
					if !errors.Is(e.Err, want) || e.Took > 40*time.Second || e.Took < 39*time.Second {
						t.Errorf("a run: %+v", e)
					}
				}
			})
		})
	}
}

// Goal: a run is late by half of AtLeast at most, whatever the cause, and told as missed otherwise.
func TestAnOutageMissesRuns(t *testing.T) {
	for name, fault := range map[string]func(s *redlatchtest.Server) (end func()){
		"refusal":   func(s *redlatchtest.Server) func() { return s.Deny() },
		"no answer": func(s *redlatchtest.Server) func() { return s.Freeze() },
		"slow": func(s *redlatchtest.Server) func() {
			s.Delay(12 * time.Second)
			return func() { s.Delay(0) }
		},
	} {
		for length, missed := range map[time.Duration]int{3 * time.Second: 0, 20 * time.Second: 1, 5 * time.Minute: 5} {
			t.Run(fmt.Sprint(name, length), func(t *testing.T) {
				bubble(t, func(t *testing.T, s *redlatchtest.Server) {
					f := newFleet(s, 1, time.Millisecond).start(t)
					m := f.machines[0]
					time.Sleep(119 * time.Second) // ran at 1
					end := fault(s)
					time.Sleep(length)
					end()
					time.Sleep(10*time.Minute + 30*time.Second - length)
					all := m.seen(schedule.Missed)
					if len(all) != missed {
						t.Errorf("%d times were missed: %+v", len(all), all)
					}
					for _, e := range all {
						if e.Err == nil || errors.Is(e.Err, schedule.ErrLate) || errors.Is(e.Err, context.Canceled) || e.Until.Sub(e.Due) != time.Minute {
							t.Errorf("missed: %+v", e)
						}
					}
					// A command that the server carries out late may hold the lock for a lease.
					elsewhere := len(m.seen(schedule.Elsewhere))
					if elsewhere > 0 && (name != "no answer" || elsewhere > 1) {
						t.Errorf("left to another machine: %+v", m.seen(schedule.Elsewhere))
					}
					f.once(t, 12-missed-elsewhere)
					for _, e := range m.seen(schedule.Ran) {
						if e.Late > 5*time.Second {
							t.Errorf("a late run: %+v", e)
						}
					}
				})
			})
		}
	}
}

// Goal: the machine that runs the job dies, and the next time is run by another one.
func TestAMachineThatDiesCostsOneRun(t *testing.T) {
	bubble(t, func(t *testing.T, s *redlatchtest.Server) {
		f := newFleet(s, 1, time.Hour).start(t)
		time.Sleep(70 * time.Second)
		f.machines[0].stop()
		if err := <-f.machines[0].done; err != context.Canceled {
			t.Error("Run returned:", err)
		}
		if got := f.machines[0].seen(schedule.Ran); len(got) != 1 || !errors.Is(got[0].Err, context.Canceled) {
			t.Errorf("the run that was stopped: %+v", got)
		}
		next := newFleet(s, 1, time.Second).start(t)
		time.Sleep(time.Minute)
		next.once(t, 1)
	})
}

func TestAFailedJobIsToldAndRunsAgain(t *testing.T) {
	bubble(t, func(t *testing.T, s *redlatchtest.Server) {
		f, failed := newFleet(s, 1, 0), errors.New("failed")
		m := f.machines[0]
		m.job.Do = func(context.Context, time.Time, *redlatch.Hold) error { return failed }
		f.start(t)
		time.Sleep(2*time.Minute + time.Second)
		if got := m.seen(schedule.Ran); len(got) != 2 || !errors.Is(got[1].Err, failed) {
			t.Errorf("the runs: %+v", got)
		}
	})
}

// list is a list of times.
type list []time.Time

func (l list) Next(t time.Time) time.Time {
	for _, one := range l {
		if one.After(t) {
			return one
		}
	}
	return time.Time{}
}

func TestRunEndsWithTheTimes(t *testing.T) {
	bubble(t, func(t *testing.T, s *redlatchtest.Server) {
		f := newFleet(s, 1, 0)
		f.machines[0].times = list{time.Now().Add(-time.Hour), time.Now().Add(time.Hour), time.Now().Add(2 * time.Hour)}
		f.start(t)
		if err := <-f.machines[0].done; err != nil {
			t.Error("Run returned:", err)
		}
		f.once(t, 2)
	})
}

// stuck is a broken schedule.
type stuck struct{}

func (stuck) Next(t time.Time) time.Time { return t }

// relative are times that count from the call.
type relative time.Duration

func (r relative) Next(t time.Time) time.Time { return t.Add(time.Duration(r)).Truncate(time.Second) }

func TestWhatCannotWorkIsRefused(t *testing.T) {
	do := func(context.Context, time.Time, *redlatch.Hold) error { return nil }
	bubble(t, func(t *testing.T, s *redlatchtest.Server) {
		client := s.Client(redlatch.Config{})
		minute := schedule.Every(time.Minute)
		both, notMulti := redlatch.NewMulti(client.Mutex("a"), client.Mutex("b"))
		most, notQuorum := redlatch.NewQuorum(client.Mutex("a"))
		if err := errors.Join(notMulti, notQuorum); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			lock  redlatch.Lock
			times schedule.Times
			job   schedule.Job
			want  string
		}{
			{client.Mutex("job"), minute, schedule.Job{}, "Do"},
			{client.Mutex("job"), nil, schedule.Job{Do: do}, "times"},
			{nil, minute, schedule.Job{Do: do}, "lock"}, // told at once, and not at the first time
			{client.Mutex("job"), stuck{}, schedule.Job{Do: do}, "times"},
			{client.Mutex("job"), schedule.Every(0), schedule.Job{Do: do}, "times"},
			{client.Mutex("job"), minute, schedule.Job{Do: do, AtLeast: -1}, "AtLeast"},
			{client.Mutex("job"), minute, schedule.Job{Do: do, AtMost: -1}, "AtMost"},
			{client.Mutex("job"), minute, schedule.Job{Do: do, AtLeast: 2, AtMost: 1}, "AtMost"},
			{(*redlatch.Mutex)(nil), minute, schedule.Job{Do: do}, "lock"},
			{&redlatch.RWMutex{}, minute, schedule.Job{Do: do}, "lock"},
			{client.RWMutex("job"), minute, schedule.Job{Do: do}, "WithMinHold"},
			{client.RWMutex("job").RLocker(), minute, schedule.Job{Do: do}, "lock"},
			{client.PermitSemaphore("job").Locker(), minute, schedule.Job{Do: do}, "lock"},
			{client.Mutex("job"), schedule.Every(30), schedule.Job{Do: do}, "times"},  // of nanoseconds
			{client.Mutex("job"), relative(time.Hour), schedule.Job{Do: do}, "times"}, // as "@every" of robfig/cron
			{both, minute, schedule.Job{Do: do}, "WithMinHold"},
			{most, minute, schedule.Job{Do: do}, "WithMinHold"},
			{client.Mutex(""), minute, schedule.Job{Do: do}, redlatch.ErrInvalidName.Error()},
		} {
			began := time.Now()
			err := schedule.Run(t.Context(), c.lock, c.times, c.job)
			if took := time.Since(began); took > 0 { // not at the first time
				t.Errorf("%s: refused after %v", c.want, took)
			}
			if wrong, is := errors.AsType[*redlatch.ConfigError](err); is && wrong.Field != c.want || !is && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		}
	})
}

// Goal: options that cannot work are refused at the start, and what is fine sends nothing until the first time.
func TestOptionsThatCannotWorkAreRefusedAtTheStart(t *testing.T) {
	do := func(context.Context, time.Time, *redlatch.Hold) error { return nil }
	bubble(t, func(t *testing.T, s *redlatchtest.Server) {
		client := s.Client(redlatch.Config{})
		for _, c := range []struct {
			want string
			opts []redlatch.LockOption
		}{
			{"WithMinHold", []redlatch.LockOption{redlatch.WithCohort(time.Second)}},
			{"WithMinHold", []redlatch.LockOption{redlatch.WithLease(time.Second)}},
			{"", []redlatch.LockOption{redlatch.WithLease(time.Minute)}},
		} {
			began, requests := time.Now(), s.Miniredis().CommandCount()
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			err := schedule.Run(ctx, client.Mutex("job"), schedule.Every(time.Hour), schedule.Job{Do: do}, c.opts...)
			cancel()
			if wrong, is := errors.AsType[*redlatch.ConfigError](err); is != (c.want != "") || is && (wrong.Field != c.want || time.Since(began) > 0) {
				t.Errorf("got %v after %v, want %s", err, time.Since(began), c.want)
			}
			if s.Miniredis().CommandCount() != requests || s.Miniredis().Exists("job") {
				t.Error("something was sent before the first time")
			}
		}
	})
}

func TestEveryIsTheSameOnAllMachines(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 10, 7, 3, 5, time.FixedZone("", 3600))
	for d, want := range map[time.Duration]string{time.Minute: "10:08:00", 15 * time.Minute: "10:15:00", time.Hour: "11:00:00"} {
		next := schedule.Every(d).Next(at)
		if got := next.Format(time.TimeOnly); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
		if again := schedule.Every(d).Next(next); again.Sub(next) != d {
			t.Errorf("%v: then %v", d, again)
		}
	}
}
