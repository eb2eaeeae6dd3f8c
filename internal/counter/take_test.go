package counter

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/embedded"
	"github.com/redlatch/redlatch/internal/lockerr"
)

// Goal: whatever becomes of the messages of a request for two of three permits, it has them or none, and
// the error says so. Method: a table of the fates of its commands, in turn.
func TestWhatBecomesOfARequestForPermits(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		permits   string
		fates     []embedded.Fate
		have      int   // waiters
		err       error // nil: no error
		cancelled int   // cancellations that were sent
		after     string
	}{
		"granted":                                {"3", []embedded.Fate{arrives}, 1, nil, 0, "1"},
		"refused":                                {"1", []embedded.Fate{arrives}, 0, nil, 0, "1"},
		"granted, and the reply lost":            {"3", []embedded.Fate{embedded.Unanswered, arrives}, 1, nil, 0, "1"},
		"lost, and then granted":                 {"3", []embedded.Fate{embedded.Lost, arrives}, 1, nil, 0, "1"},
		"lost, and then refused":                 {"1", []embedded.Fate{embedded.Lost, arrives}, 0, nil, 1, "1"},
		"no counter":                             {"x", []embedded.Fate{arrives}, 0, lockerr.ErrWrongType, 0, "x"},
		"lost, and then no counter":              {"x", []embedded.Fate{embedded.Lost, arrives}, 0, lockerr.ErrWrongType, 1, "x"},
		"granted, and refused when it is sought": {"3", []embedded.Fate{embedded.Unanswered, answers("ERR no"), arrives}, 0, errors.ErrUnsupported, 1, "3"},
	} {
		t.Run(name, func(t *testing.T) {
			story(t, func(s *stage) {
				job := s.mine.Semaphore("job")
				s.teach(job)
				s.with("job", c.permits)
				cancelled, sent := 0, 0
				s.Spoil(func(ctx context.Context, words []string, send func() driver.Reply) driver.Reply {
					if cancels(words, job) {
						cancelled++
						return send()
					}
					fate := c.fates[min(sent, len(c.fates)-1)]
					sent++
					return fate(ctx, words, send)
				})
				have, err := job.take(s.Context(), 2)
				switch {
				case c.err == nil && (err != nil || have != c.have):
					t.Errorf("%d have permits, %v; want %d", have, err, c.have)
				case c.err == errors.ErrUnsupported && (err == nil || errors.Is(err, lockerr.ErrUnknownOutcome)):
					t.Errorf("the error is %v, want that of the server", err)
				case c.err != nil && c.err != errors.ErrUnsupported && !errors.Is(err, c.err):
					t.Errorf("the error is %v, want %v", err, c.err)
				}
				synctest.Wait()
				if cancelled != c.cancelled || s.number("job") != c.after {
					t.Errorf("%d cancellations, and the counter is %s; want %d and %s", cancelled, s.number("job"), c.cancelled, c.after)
				}
			})
		})
	}
}

// teach has the server know the scripts of a semaphore.
func (s *stage) teach(job Semaphore) {
	s.Helper()
	if _, err := job.take(s.Context(), 1); err != nil {
		s.Fatal(err)
	}
	<-job.undone(job.begin(job.key))
}

// undone undoes a request.
func (s Semaphore) undone(r request) <-chan bool {
	undone := make(chan bool, 1)
	s.undo(r, 0, undone)
	return undone
}

// Goal: a request without an answer is undone before its caller is told, if the server answers a
// cancellation in time. If not, the outcome is unknown, and the cancellation goes on for as long as the
// record of the request is kept. Method: a server that freezes after it has carried out the request.
func TestARequestWithoutAnAnswerIsUndone(t *testing.T) {
	t.Parallel()
	for frozen, c := range map[time.Duration]struct {
		unknown bool
		after   string
	}{
		time.Second + time.Millisecond: {false, "3"},
		30 * time.Second:               {true, "3"},
		repeated - time.Second:         {true, "3"},
		repeated + 10*time.Second:      {true, "1"}, // by then nobody knows whose the permits are
	} {
		t.Run(frozen.String(), func(t *testing.T) {
			story(t, func(s *stage) {
				job := s.mine.Semaphore("job")
				s.teach(job)
				s.with("job", "3")
				began, first := time.Now(), true
				s.Spoil(func(ctx context.Context, words []string, send func() driver.Reply) driver.Reply {
					if first {
						first = false
						send()
					}
					thaw := time.NewTimer(time.Until(began.Add(frozen)))
					defer thaw.Stop()
					select {
					case <-thaw.C:
						return send()
					case <-ctx.Done():
						return driver.Reply{Err: ctx.Err()}
					}
				})
				ctx, cancel := context.WithTimeout(s.Context(), time.Second)
				defer cancel()
				err := job.Acquire(ctx, 2)
				if errors.Is(err, lockerr.ErrUnknownOutcome) != c.unknown || errors.Is(err, lockerr.ErrNotAcquired) == c.unknown || !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("the outcome is unknown: want %v, got %v", c.unknown, err)
				}
				time.Sleep(4 * time.Minute)
				if got := s.number("job"); got != c.after {
					t.Errorf("%s permits in the end, want %s", got, c.after)
				}
			})
		})
	}
}

// Goal: a cancellation says that nothing is left of a request only if that is known. Method: the age of
// the request, and whether it had taken permits; its record has expired in the last two rows.
func TestACancellationKnowsWhetherNothingIsLeft(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		age         time.Duration
		took        bool
		undone      bool
		description string
	}{
		{0, true, true, "the permits are put back"},
		{0, false, true, "the record says that no copy will count"},
		{2 * repeated, true, true, "the permits are put back late"},
		{2 * repeated, false, false, "the record may have expired with the permits taken"},
	} {
		t.Run(c.description, func(t *testing.T) {
			story(t, func(s *stage) {
				job := s.mine.Semaphore("job")
				s.with("job", "3")
				r := job.begin("job")
				if c.took {
					if _, err := job.manager.Runner().Run(s.Context(), job.calls.Acquire(r.Request, 1)); err != nil {
						s.Fatal(err)
					}
				}
				r.began = r.began.Add(-c.age)
				if undone := <-job.undone(r); undone != c.undone || s.number("job") != "3" {
					t.Errorf("undone is %v with %s permits left, want %v and 3", undone, s.number("job"), c.undone)
				}
			})
		})
	}
}

// A cancellation that nobody answers ends with the manager, or when the record of its request may have
// expired.
func TestACancellationWithoutAnAnswerEnds(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*Counters){
		"the manager closes": func(c *Counters) { go func() { _ = c.manager.Close(context.Background()) }() },
		"the record is old":  func(*Counters) { time.Sleep(repeated - 10*time.Second) },
	} {
		t.Run(name, func(t *testing.T) {
			story(t, func(s *stage) {
				job := s.mine.Semaphore("job")
				s.then(embedded.Frozen)
				undone := job.undone(job.begin("job"))
				time.Sleep(10 * time.Second)
				if len(undone) > 0 {
					t.Error("it ended before")
				}
				end(s.mine)
				time.Sleep(2 * bound)
				if len(undone) == 0 || <-undone {
					t.Error("it did not end, or nothing is left of the request")
				}
			})
		})
	}
}

// The error of a request that has taken nothing says why: the context has ended, or the server said no.
func TestTheErrorOfARequestThatHasTakenNothing(t *testing.T) {
	t.Parallel()
	story(t, func(s *stage) {
		job := s.mine.Semaphore("job")
		ended, cancel := context.WithCancelCause(context.Background())
		cause := errors.New("the caller went home")
		cancel(cause)
		server := &driver.ServerError{Message: "ERR no"}
		alone := errors.Join(driver.ErrNotSent, driver.ErrNoConnection)
		for _, c := range []struct {
			ctx  context.Context
			err  error
			want []error
			not  error
		}{
			{ended, nil, nil, nil},
			{ended, context.Canceled, []error{lockerr.ErrNotAcquired, context.Canceled, cause}, nil},
			{ended, driver.ErrNotSent, []error{lockerr.ErrNotAcquired, cause}, nil},
			{ended, server, []error{server, cause}, lockerr.ErrNotAcquired},
			{ended, alone, []error{driver.ErrNoConnection, cause}, lockerr.ErrNotAcquired},
			{context.Background(), driver.ErrNotSent, []error{driver.ErrNotSent}, lockerr.ErrNotAcquired},
			{context.Background(), server, []error{server}, lockerr.ErrNotAcquired},
		} {
			got := job.refusal(c.ctx, c.err)
			if (got == nil) != (len(c.want) == 0) || c.not != nil && errors.Is(got, c.not) {
				t.Errorf("%v with an ended context %v: %v", c.err, c.ctx.Err() != nil, got)
			}
			for _, want := range c.want {
				if !errors.Is(got, want) {
					t.Errorf("%v with an ended context %v: %v is not %v", c.err, c.ctx.Err() != nil, got, want)
				}
			}
		}
	})
}
