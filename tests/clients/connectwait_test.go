package clients_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/fixture"
)

// A service that starts before its Redis (Config.ConnectTimeout).

// Goal: Open comes through when the server has started, and the log says that it waits. Method: a
// proxy that refuses connections at first.
func TestOpenWaitsForAServerThatStartsLater(t *testing.T) {
	t.Parallel()
	proxy := redistest.NewProxy(t, redistest.Shared(t).Addr())
	proxy.Refuse(t, true)
	var log strings.Builder
	told := make(chan struct{}, 1)
	cfg := redlatch.Config{ConnectTimeout: time.Minute, Logger: slog.New(slog.NewTextHandler(writerFunc(func(p []byte) (int, error) {
		told <- struct{}{}
		return log.Write(p)
	}), nil))}
	opened := make(chan error, 1)
	go func() {
		c, err := redlatch.Open(t.Context(), proxy.URL(), cfg)
		if err == nil {
			err = c.Close(t.Context())
		}
		opened <- err
	}()
	<-told
	time.Sleep(300 * time.Millisecond) // some more attempts
	if len(opened) > 0 {
		t.Fatalf("Open has not waited: %v", <-opened)
	}
	proxy.Refuse(t, false)
	check.Is(t, "Open", <-opened, nil)
	if text := log.String(); strings.Count(text, "trying again") != 1 || !strings.Contains(text, "connection refused") {
		t.Errorf("the log is %s", text)
	}
}

// Goal: with a negative time, Open returns a client also if the server cannot be reached, and the log says that it goes
// on. The client finds the server when it is there, and judges it as Open would have. Method: a proxy that refuses
// connections at first, or ends them.
func TestOpenReturnsAClientBeforeThereIsAServer(t *testing.T) {
	t.Parallel()
	const refused = "connection refused"
	for what, c := range map[string]struct {
		server, told string
		want         error
	}{
		"a server that starts later": {redistest.Shared(t).Addr(), refused, nil},
		"a server of the wrong kind": {strings.TrimPrefix(garnet(t), "redis://"), refused, redlatch.ErrUnsupported},
		"a server that hangs up":     {nobody, "if its port is for TLS, the URL begins with rediss://", driver.ErrNoConnection},
	} {
		proxy := redistest.NewProxy(t, c.server)
		proxy.Refuse(t, c.told == refused)
		var log strings.Builder
		cfg := redlatch.Config{ConnectTimeout: -1, Logger: slog.New(slog.NewTextHandler(&log, nil))}
		client, err := redlatch.Open(t.Context(), proxy.URL(), cfg)
		fixture.ClosedAtEnd(t, client, err)
		if text := log.String(); strings.Count(text, "trying again") != 1 || !strings.Contains(text, c.told) {
			t.Errorf("%s: the log is %s", what, text)
		}
		try := func() error {
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			h, err := client.Mutex(redistest.Name(t)).TryLock(ctx)
			if err == nil {
				err = h.Unlock(t.Context())
			}
			return err
		}
		check.Is(t, what+": TryLock without a server", try(), driver.ErrNoConnection)
		proxy.Refuse(t, false)
		redistest.Eventually(t, 10*time.Second, func() bool { return errors.Is(try(), c.want) }, what)
	}
}

// writerFunc is a function that writes.
type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// Goal: the wait ends with its time, or its context, and says why there was no connection.
func TestOpenEndsWithItsTime(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"redis://" + nobody, "redis+cluster://" + nobody, "redis+sentinel://" + nobody + "/locks"} {
		began := time.Now()
		_, err := redlatch.Open(t.Context(), url, fixture.Quiet(redlatch.Config{ConnectTimeout: 400 * time.Millisecond}))
		check.Within(t, url, time.Since(began), 350*time.Millisecond, 3*time.Second)
		if err == nil || !strings.Contains(err.Error(), "connection refused") {
			t.Errorf("%s: Open is %v", url, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		_, err = redlatch.Open(ctx, url, fixture.Quiet(redlatch.Config{ConnectTimeout: time.Hour}))
		cancel()
		check.Is(t, url, err, context.DeadlineExceeded)
	}
}

// Goal: the error of an Open whose context has ended matches the context's, also if an attempt fails at that
// moment. Method: contexts that end while the first attempts are under way.
func TestOpenThatEndsWithAFailureNamesTheContext(t *testing.T) {
	t.Parallel()
	url := "redis+cluster://" + nobody
	for i := range 300 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*10*time.Microsecond)
		_, err := redlatch.Open(ctx, url, fixture.Quiet(redlatch.Config{ConnectTimeout: time.Hour}))
		cancel()
		check.Is(t, url, err, context.DeadlineExceeded)
	}
}

// nobody is at this address: a process without privileges cannot listen there, nor is it given for an outgoing connection.
const nobody = "127.0.0.1:1"

// What another attempt cannot change is reported at once.
func TestOpenDoesNotWaitForWhatStays(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	for what, url := range map[string]string{
		"a wrong password":                  "redis://me:wrong@" + server.Addr(),
		"a wrong URL":                       "redis://a:b:c",
		"a replica of none, and no cluster": "redis+cluster://" + server.Addr(),
		"a server of the wrong kind":        garnet(t),
	} {
		for _, within := range []time.Duration{time.Minute, -1} {
			began := time.Now()
			var log strings.Builder
			_, err := redlatch.Open(t.Context(), url, redlatch.Config{ConnectTimeout: within, Logger: slog.New(slog.NewTextHandler(&log, nil))})
			if took := time.Since(began); err == nil || took > 5*time.Second || log.Len() > 0 {
				t.Errorf("%s, %v: after %v Open is %v; the log is %s", what, within, took, err, &log)
			}
		}
	}
	_, err := redlatch.Open(t.Context(), "redis+cluster://"+nobody, redlatch.Config{ConnectTimeout: -1})
	if config, ok := errors.AsType[*redlatch.ConfigError](err); !ok || config.Field != "ConnectTimeout" {
		t.Errorf("Open is %v", err)
	}
}

func TestDoValueReturnsWhatTheFunctionDoes(t *testing.T) {
	t.Parallel()
	c, own := fixture.Open(t, "memory://", redlatch.Config{}), errors.New("own")
	m := c.Mutex("job")
	double := func(n int, err error) (int, error) {
		return redlatch.DoValue(t.Context(), m, func(ctx context.Context, h *redlatch.Hold) (int, error) {
			if !h.Valid() || ctx.Err() != nil {
				t.Error("it does not hold the lock")
			}
			return 2 * n, err
		})
	}
	if got, err := double(21, nil); got != 42 || err != nil {
		t.Errorf("DoValue is %d, %v", got, err)
	}
	if got, err := double(4, own); got != 8 || !errors.Is(err, own) {
		t.Errorf("with an error DoValue is %d, %v", got, err)
	}
	h := check.Must(m.Lock(t.Context()))
	got, err := redlatch.DoValue(t.Context(), m, func(context.Context, *redlatch.Hold) (string, error) {
		return "called", fmt.Errorf("called")
	}, redlatch.WithWait(0))
	check.Is(t, "DoValue of a busy lock", err, redlatch.ErrNotAcquired)
	if got != "" {
		t.Errorf("it returns %q", got)
	}
	check.Is(t, "Unlock", h.Unlock(t.Context()), nil)
}
