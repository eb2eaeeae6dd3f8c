package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/redistest"
)

// fakeLocker is a Locker whose results a test sets.
type fakeLocker struct {
	calls     []string
	lockErr   error
	unlockErr error
}

func (f *fakeLocker) take(call string) (Held, error) {
	f.calls = append(f.calls, call)
	if f.lockErr != nil {
		return nil, f.lockErr
	}
	return f, nil
}

func (f *fakeLocker) Lock(_ context.Context, name string) (Held, error) {
	return f.take("lock " + name)
}

func (f *fakeLocker) LockFor(_ context.Context, name string, lease time.Duration) (Held, error) {
	return f.take(fmt.Sprint("lock ", name, " lease ", lease))
}

func (f *fakeLocker) TryLock(_ context.Context, name string) (Held, error) {
	return f.take("try " + name)
}

func (f *fakeLocker) TryLockFor(_ context.Context, name string, wait, lease time.Duration) (Held, error) {
	return f.take(fmt.Sprint("try ", name, " wait ", wait, " lease ", lease))
}

func (f *fakeLocker) IsLocked(_ context.Context, name string) (bool, error) {
	f.calls = append(f.calls, "is locked "+name)
	return false, f.lockErr
}

func (f *fakeLocker) Owner() string            { return "fake:1" }
func (f *fakeLocker) Context() context.Context { return context.Background() }

func (f *fakeLocker) Unlock(context.Context) error {
	f.calls = append(f.calls, "unlock")
	return f.unlockErr
}

// serveFake answers one request with a fake locker.
func serveFake(t *testing.T, f *fakeLocker, method, path string) answer {
	t.Helper()
	return serveFakeUnder(t.Context(), t, f, method, path)
}

// serveFakeUnder is serveFake for a request that has this context.
func serveFakeUnder(ctx context.Context, t *testing.T, f *fakeLocker, method, path string) answer {
	t.Helper()
	connection, err := connect(t.Context(), "memory://"+redistest.Name(t))
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	connection.Do(t.Context(), driver.Command{Words: []string{"MSET", keyWithLock("apples"), "5", keyWithoutLock("apples"), "5"}})
	svc := &service{
		locker: f,
		stock:  &stock{redis: connection},
		times:  times{wait: 100 * time.Second, lease: 10 * time.Second},
		log:    slog.New(slog.DiscardHandler),
	}
	recorder := httptest.NewRecorder()
	svc.routes().ServeHTTP(recorder, httptest.NewRequestWithContext(ctx, method, path, nil))
	got := answer{code: recorder.Code}
	if err := json.Unmarshal(recorder.Body.Bytes(), &got); err != nil {
		t.Fatalf("%s: %v", recorder.Body, err)
	}
	return got
}

func TestWhichLockAnEndpointTakes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		method, path string
		want         []string
	}{
		{"GET", pathLock + "test", []string{"lock test", "unlock"}},
		{"POST", pathLock + "a%2Fb", []string{"lock a/b", "unlock"}},
		{"GET", pathTryLock + "test", []string{"try test wait 1m40s lease 10s", "unlock"}},
		{"POST", pathWith + "apples", []string{"lock stock:apples lease 10s", "unlock"}},
		{"POST", pathWithout + "apples", nil},
		{"PUT", pathStock + "apples?units=3", []string{"try stock:apples", "unlock", "is locked stock:apples"}},
		{"GET", pathStock + "apples", []string{"is locked stock:apples"}},
	} {
		f := &fakeLocker{}
		if got := serveFake(t, f, c.method, c.path); got.code != 200 {
			t.Errorf("%s %s was answered by %+v", c.method, c.path, got)
		}
		if !slices.Equal(f.calls, c.want) {
			t.Errorf("%s %s called %q, want %q", c.method, c.path, f.calls, c.want)
		}
	}
}

func TestWhatAClientIsToldOfAnError(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		code int
		word string
	}{
		{redlatch.ErrLost, 409, "lost"},
		{redlatch.ErrUnknownOutcome, 503, "unknown"},
		{redlatch.ErrNotAcquired, 423, "not_acquired"},
		{redlatch.ErrInvalidName, 400, "invalid_name"},
		{redlatch.ErrWrongType, 409, "not_a_lock"},
		{redlatch.ErrClosed, 503, "stopping"},
		{errors.Join(redlatch.ErrNotAcquired, context.Canceled, errStopping), 503, "stopping"},
		{errors.Join(redlatch.ErrNotAcquired, context.Canceled), 499, "client_gone"},
		{errors.Join(errStopping, redlatch.ErrLost), 409, "lost"},
		{errors.New("dial tcp 10.1.2.3:6379: refused"), 503, "redis_unavailable"},
	} {
		wrapped := fmt.Errorf("lock: %w", c.err)
		for _, path := range []string{pathLock, pathTryLock} {
			serveFake(t, &fakeLocker{lockErr: wrapped}, "GET", path+"test").is(t, "taking: "+c.err.Error(), c.code, c.word)
			late := serveFake(t, &fakeLocker{unlockErr: wrapped}, "GET", path+"test")
			late.is(t, "releasing: "+c.err.Error(), c.code, c.word)
			if late.Owner != "fake:1" || late.Lock != "test" {
				t.Errorf("the answer does not say which lock it is about: %+v", late)
			}
		}
		serveFake(t, &fakeLocker{lockErr: wrapped}, "POST", pathWith+"apples").is(t, "locking for a sale", c.code, c.word)
		serveFake(t, &fakeLocker{unlockErr: wrapped}, "POST", pathWith+"apples").is(t, "releasing after a sale", c.code, c.word)
		serveFake(t, &fakeLocker{unlockErr: wrapped}, "PUT", pathStock+"apples?units=1").is(t, "filling", c.code, c.word)
		serveFake(t, &fakeLocker{lockErr: wrapped}, "GET", pathStock+"apples").is(t, "is it locked", c.code, c.word)
	}
}

// Goal: a request that the end of the service interrupts is not taken for one whose
// client left. Method: what was interrupted knows only that it was.
func TestAnInterruptedRequestIsToldWhy(t *testing.T) {
	t.Parallel()
	ctx, interrupt := context.WithCancelCause(t.Context())
	interrupt(errStopping)
	f := &fakeLocker{lockErr: fmt.Errorf("lock: %w", context.Canceled)}
	serveFakeUnder(ctx, t, f, "GET", pathLock+"test").is(t, "it", 503, "stopping")
}

func TestRequestsThatCannotBe(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	a := start(t, "--redis", server.URL())
	name := redistest.Name(t)
	server.CLI(t, "SET", name, "a string")
	for _, c := range []struct {
		method, path string
		code         int
		word         string
	}{
		{"GET", pathLock + "a%0Ab", 400, "invalid_name"},
		{"GET", pathStatus + "a%0Ab", 400, "invalid_name"},
		{"GET", pathLock + name, 409, "not_a_lock"},
		{"GET", pathTryLock + name, 409, "not_a_lock"},
		{"GET", pathStatus + name, 409, "not_a_lock"},
		{"PUT", pathStock + name, 400, "units"},
		{"PUT", pathStock + name + "?units=-1", 400, "units"},
		{"PUT", pathStock + name + "?units=many", 400, "units"},
		{"GET", pathStock + name, 404, "no_stock"},
		{"POST", pathWith + name, 404, "no_stock"},
		{"POST", pathWithout + name, 404, "no_stock"},
	} {
		a.ask(c.method, c.path).is(t, c.method+" "+c.path, c.code, c.word)
	}
	if got := server.CLI(t, "GET", name); got != "a string" {
		t.Errorf("the key that is no lock is %q now", got)
	}
	if s := a.status("stock:" + name); s.Locked {
		t.Errorf("a sale that failed left its lock behind: %+v", s)
	}
}

func TestWithoutRedisEveryEndpointSaysSo(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	a := start(t, "--redis", server.URL())
	a.ask("PUT", pathStock+"apples?units=1")
	server.Kill()
	requests := [][2]string{
		{"GET", pathLock + "test"}, {"GET", pathTryLock + "test"}, {"GET", pathStatus + "test"},
		{"GET", pathStock + "apples"}, {"POST", pathWith + "apples"}, {"POST", pathWithout + "apples"},
	}
	var answers []<-chan answer
	for _, r := range requests {
		answers = append(answers, a.begin(r[0], r[1]))
	}
	for i, later := range answers {
		(<-later).is(t, requests[i][1], 503, "redis_unavailable")
	}
}

func TestALockIsGivenBackWhenTheWorkPanics(t *testing.T) {
	t.Parallel()
	f := &fakeLocker{}
	func() {
		defer func() { _ = recover() }()
		_ = under(t.Context(), f, func() error { panic("work") })
	}()
	if !slices.Equal(f.calls, []string{"unlock"}) {
		t.Errorf("it called %q", f.calls)
	}
}

func TestAStatusWithoutExpiryShowsMinusOne(t *testing.T) {
	t.Parallel()
	got := newLockStatus("x", redlatch.Status{Locked: true, TTL: -1})
	if got.TTL != -1 {
		t.Errorf("it shows %d", got.TTL)
	}
}
