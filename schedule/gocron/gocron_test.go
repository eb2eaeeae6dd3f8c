package gocron_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	cron "github.com/go-co-op/gocron/v2"
	robfig "github.com/robfig/cron/v3"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/redlatchtest"
	"github.com/redlatch/redlatch/schedule"
	"github.com/redlatch/redlatch/schedule/gocron"
)

// start starts a scheduler with a job every minute, until the end of the test.
func start(t *testing.T, job func(), option cron.SchedulerOption) {
	t.Helper()
	s, err := cron.NewScheduler(option, cron.WithLocation(time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.NewJob(cron.CronJob("* * * * *", false), cron.NewTask(job), cron.WithName("job")); err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() {
		if err := s.Shutdown(); err != nil {
			t.Error(err)
		}
	})
}

// Goal: three machines run a job ten times in ten minutes, not thirty times.
func TestTheLockerRunsEachTimeOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := redlatchtest.NewServer(t)
		var runs atomic.Int64
		for range 3 {
			client := s.Client(redlatch.Config{})
			locker := gocron.NewLocker(func(name string) redlatch.Lock { return client.Mutex("cron:" + name) }, redlatch.WithMinHold(30*time.Second))
			start(t, func() { runs.Add(1) }, cron.WithDistributedLocker(locker))
		}
		time.Sleep(10*time.Minute + 10*time.Second)
		if got := runs.Load(); got != 10 {
			t.Errorf("%d runs, want 10", got)
		}
		if !s.Miniredis().Exists("cron:job") {
			t.Error("the lock does not have the name of the job")
		}
	})
}

// Goal: a lock that is held is an error, also for the same owner (Client.WithOwner). One with several holders is refused.
func TestALockThatIsHeldIsAnError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := redlatchtest.NewServer(t)
		first, second := s.Client(redlatch.Config{}), s.Client(redlatch.Config{})
		ctx := first.WithOwner(t.Context())
		of := func(c *redlatch.Client) *gocron.Locker {
			return gocron.NewLocker(func(name string) redlatch.Lock { return c.Mutex(name) })
		}
		lock, err := of(first).Lock(ctx, "job")
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []*redlatch.Client{first, second} {
			if got, err := of(c).Lock(ctx, "job"); got != nil || !errors.Is(err, redlatch.ErrNotAcquired) {
				t.Errorf("got %v, %v", got, err)
			}
		}
		if err := lock.Unlock(ctx); err != nil {
			t.Error(err)
		}
		readers := gocron.NewLocker(func(name string) redlatch.Lock { return first.RWMutex(name).RLocker() })
		if got, err := readers.Lock(ctx, "job"); got != nil || !errors.As(err, new(*redlatch.ConfigError)) {
			t.Errorf("got %v, %v of readers", got, err)
		}
		if got, err := gocron.NewLocker(nil).Lock(ctx, "job"); got != nil || !errors.As(err, new(*redlatch.ConfigError)) {
			t.Errorf("got %v, %v of no function", got, err)
		}
		none := gocron.NewLocker(func(name string) redlatch.Lock { return nothing{first.Mutex(name)} })
		if got, err := none.Lock(ctx, "job"); got != nil || !errors.As(err, new(*redlatch.ConfigError)) {
			t.Errorf("got %v, %v of a lock that returns nothing", got, err)
		}
	})
}

// Goal: a job that hangs holds up no shutdown beyond the time of gocron. It keeps its lock until the client closes, or for
// WithMaxHold. It is in real time: gocron asks for the time in a loop until its time is over.
func TestAJobThatHangsKeepsItsLock(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		opts  []redlatch.LockOption
		frees func(c *redlatch.Client, other redlatch.Lock) (*redlatch.Hold, error)
	}{
		"until Close": {nil, func(c *redlatch.Client, other redlatch.Lock) (*redlatch.Hold, error) {
			if err := c.Close(context.Background()); err != nil {
				return nil, err
			}
			return other.TryLock(context.Background())
		}},
		"for its longest time": {[]redlatch.LockOption{redlatch.WithMaxHold(5 * time.Second)}, func(_ *redlatch.Client, other redlatch.Lock) (*redlatch.Hold, error) {
			return other.Lock(context.Background(), redlatch.WithWait(20*time.Second))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := redlatchtest.NewServer(t)
			client, began, stuck := s.Client(redlatch.Config{}), make(chan struct{}), make(chan struct{})
			defer close(stuck)
			locker := gocron.NewLocker(func(name string) redlatch.Lock { return client.Mutex(name) }, c.opts...)
			scheduler, err := cron.NewScheduler(cron.WithDistributedLocker(locker), cron.WithStopTimeout(20*time.Millisecond))
			if err == nil {
				hang := cron.NewTask(func() { close(began); <-stuck })
				_, err = scheduler.NewJob(cron.OneTimeJob(cron.OneTimeJobStartImmediately()), hang, cron.WithName("job"))
			}
			if err != nil {
				t.Fatal(err)
			}
			other := s.Client(redlatch.Config{}).Mutex("job")
			scheduler.Start()
			<-began
			if err := scheduler.Shutdown(); !errors.Is(err, cron.ErrStopJobsTimedOut) {
				t.Error("Shutdown:", err)
			}
			if _, err := other.TryLock(t.Context()); !errors.Is(err, redlatch.ErrNotAcquired) {
				t.Error("another machine:", err)
			}
			if _, err := c.frees(client, other); err != nil {
				t.Error("the lock is not free:", err)
			}
		})
	}
}

// nothing is a lock of a user that returns neither a hold nor an error.
type nothing struct{ *redlatch.Mutex }

func (nothing) TryLock(context.Context, ...redlatch.LockOption) (*redlatch.Hold, error) {
	return nil, nil
}

// Goal: only the leader runs jobs, and after it the next one.
func TestTheElectorRunsOnTheLeader(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := redlatchtest.NewServer(t)
		var mu sync.Mutex
		ran := map[int]int{}
		var stops []func()
		for i := range 3 {
			client, elector := s.Client(redlatch.Config{}), &gocron.Elector{}
			ctx, stop := context.WithCancel(t.Context())
			var run sync.WaitGroup
			run.Go(func() { _ = elector.Run(ctx, client.Mutex("leader")) })
			stops = append(stops, func() { stop(); run.Wait() })
			t.Cleanup(stops[i])
			start(t, func() {
				mu.Lock()
				defer mu.Unlock()
				ran[i]++
			}, cron.WithDistributedElector(elector))
			synctest.Wait()
		}
		time.Sleep(5*time.Minute + 10*time.Second)
		stops[0]()
		time.Sleep(5 * time.Minute)
		thaw := s.Freeze()
		time.Sleep(5 * time.Minute)
		mu.Lock()
		defer mu.Unlock()
		if ran[0] != 5 || ran[1]+ran[2] != 5 || ran[1]*ran[2] != 0 {
			t.Errorf("the machines ran %v times: five by the first, five by another, none while nobody leads", ran)
		}
		thaw()
	})
}

// Goal: schedules of robfig/cron are Times of package schedule, as it says.
func TestCronExpressionsAreTimes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		expression, err := robfig.ParseStandard("CRON_TZ=UTC */5 * * * *")
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithTimeout(t.Context(), time.Hour+time.Minute)
		defer stop()
		runs := 0
		client := redlatchtest.NewServer(t).Client(redlatch.Config{})
		err = schedule.Run(ctx, client.Mutex("job"), expression, schedule.Job{
			Do: func(context.Context, time.Time, *redlatch.Hold) error { runs++; return nil },
		})
		if runs != 12 || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%d runs, %v", runs, err)
		}
	})
}
