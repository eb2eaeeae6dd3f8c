package locks_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/fixture"
)

func TestNamesThatCannotNameALock(t *testing.T) {
	c := fixture.Open(t, "memory://", redlatch.Config{})
	for what, name := range map[string]string{
		"empty": "", "over-long": strings.Repeat("x", 1025), "a newline": "a\nb", "a null": "a\x00", "no UTF-8": "a\xff",
	} {
		_, err := c.Mutex(name).Lock(t.Context())
		check.Is(t, what+": Lock", err, redlatch.ErrInvalidName)
		want := map[bool]error{true: redlatch.ErrInvalidName}[name == ""] // others may have made the rest
		_, err = c.Mutex(name).ForceUnlock(t.Context())
		check.Is(t, what+": ForceUnlock", err, want)
		_, err = c.FairMutex(name).Status(t.Context())
		check.Is(t, what+": Status", err, want)
	}
	for _, name := range []string{"a", "order:1001", "größe 1", strings.Repeat("x", 1024), "{a", "a{b}c"} {
		h, err := c.Mutex(name).Lock(t.Context())
		if err != nil {
			t.Errorf("%q: %v", name, err)
			continue
		}
		_ = h.Unlock(t.Context())
	}
}

// Goal: two locks have no waiters and no permits in common. The names x and {x} would, so what has keys
// beside its own takes one of them.
func TestANameInBracesAloneIsRefusedForWhatHasKeysBesideIt(t *testing.T) {
	c := fixture.Open(t, "memory://", redlatch.Config{})
	prefixed := fixture.Open(t, "memory://", redlatch.Config{Prefix: "app:"})
	try := func(l redlatch.Lock) error {
		h, err := l.TryLock(t.Context())
		if err == nil {
			_ = h.Unlock(t.Context())
		}
		return err
	}
	for _, name := range []string{"{x}", "{a}b}"} {
		check.Is(t, "a fair lock of the name "+name, try(c.FairMutex(name)), redlatch.ErrInvalidName)
		check.Is(t, "a permit of the name "+name, try(c.PermitSemaphore(name).Locker()), redlatch.ErrInvalidName)
		_, err := c.PermitSemaphore(name).TrySetPermits(t.Context(), 1)
		check.Is(t, "permits of the name "+name, err, redlatch.ErrInvalidName)
	}
	for _, name := range []string{"{x}y", "y{x}", "x}", "{x", "{a}{b}", "{}"} {
		check.Is(t, "a fair lock of the name "+name, try(c.FairMutex(name)), nil)
	}
	check.Is(t, "a fair lock behind a prefix", try(prefixed.FairMutex("{x}")), nil)
	check.Is(t, "a mutex", try(c.Mutex("{x}")), nil)
	check.Is(t, "a writer", try(c.RWMutex("{x}")), nil)
}

func TestOptionsAndSettingsThatCannotWork(t *testing.T) {
	c := fixture.Open(t, "memory://", redlatch.Config{})
	for field, opt := range map[string]redlatch.LockOption{
		"WithLease": redlatch.WithLease(9 * time.Millisecond), "WithWait": redlatch.WithWait(-1), "LockOption": {}, "WithBackoff": redlatch.WithBackoff(2*time.Millisecond, time.Millisecond),
		"WithReplicas": redlatch.WithReplicas(1, 0),
	} {
		_, err := c.Mutex("job").Lock(t.Context(), opt)
		if config, ok := errors.AsType[*redlatch.ConfigError](err); !ok || config.Field != field {
			t.Errorf("Lock is %v, want a ConfigError for %s", err, field)
		}
	}
	for field, cfg := range map[string]redlatch.Config{
		"Name":           {Name: "two words"},
		"LeaseTime":      {LeaseTime: time.Millisecond},
		"RenewInterval":  {LeaseTime: time.Second, RenewInterval: 501 * time.Millisecond},
		"MaxHold":        {MaxHold: time.Millisecond},
		"PollCap":        {PollCap: time.Millisecond},
		"Backoff":        {Backoff: redlatch.Backoff{Max: time.Microsecond}},
		"OldestPeer":     {OldestPeer: "3.16"},
		"RestartDelay":   {LeaseTime: time.Second, RestartDelay: 999 * time.Millisecond},
		"TokenKeep":      {TokenClock: true, TokenKeep: 29 * time.Second},
		"CommandTimeout": {CommandTimeout: -1},
		"ReleaseTimeout": {ReleaseTimeout: time.Microsecond},

		"Observer":            {Observer: fixture.Observer(nil)},
		"Observer of several": {Observer: redlatch.Observers(nil, (*struct{ redlatch.Observer })(nil))},
	} {
		_, err := redlatch.Open(t.Context(), "memory://", cfg)
		if config, ok := errors.AsType[*redlatch.ConfigError](err); !ok || config.Field != strings.Fields(field)[0] {
			t.Errorf("Open is %v, want a ConfigError for %s", err, field)
		}
	}
}

func TestURLsWithATypo(t *testing.T) {
	for _, url := range []string{
		"", "localhost:6379", "127.0.0.1:6379", "rediss//host", "http://host", "redis:host", "redis://", "redis://:6379",
		"redis://host:0", "redis://host:99999", "redis://host:port", "redis://host/x", "redis://host/-1",
		"redis://host?db=1", "redis://user:secret@host:port/0", "memory://a/b", "memory://user:secret@a", "redis://[::1",
	} {
		_, err := redlatch.Open(t.Context(), url, redlatch.Config{})
		if config, ok := errors.AsType[*redlatch.ConfigError](err); !ok || config.Field != "url" {
			t.Errorf("Open(%q) is %v, want a ConfigError for the url", url, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("Open(%q) tells the password: %v", url, err)
		}
	}
}

func TestAWrongPassword(t *testing.T) {
	server := redistest.Start(t, "--requirepass", "right")
	for _, url := range []string{"redis://:secret@" + server.Addr(), "redis://nobody:secret@" + server.Addr(), server.URL()} {
		began := time.Now()
		_, err := redlatch.Open(t.Context(), url, redlatch.Config{})
		if _, ok := errors.AsType[*driver.ServerError](err); !ok || !strings.Contains(err.Error(), server.Addr()) || strings.Contains(err.Error(), "secret") {
			t.Errorf("Open is %v, want the server's error, the address and no password", err)
		}
		check.Within(t, "Open", time.Since(began), 0, time.Second+fixture.Slack)
	}
	c := fixture.Open(t, "redis://:right@"+server.Addr()+"/3", redlatch.Config{})
	h := check.Must(c.Mutex("job").Lock(t.Context()))
	if got := server.CLI(t, "AUTH", "right"); got != "OK" {
		t.Fatal(got)
	}
	_ = h.Unlock(t.Context())
}

func TestKeysThatAreNoLock(t *testing.T) {
	fixture.EachServer(t, func(t *testing.T, url string) {
		c, d := fixture.Open(t, url, redlatch.Config{}), fixture.Raw(t, url)
		name := redistest.Name(t)
		keys := map[string][]string{
			name + "-string": {"SET", name + "-string", "x"},
			name + "-list":   {"RPUSH", name + "-list", "x"},
			name + "-hash":   {"HSET", name + "-hash", "name", "Ada", "mail", "a@example.org"},
			name + "-rw":     {"HSET", name + "-rw", "mode", "read", "4e1b6b8e-6f3e-4b5a-9d4f-0a6a6b3b0f10:7", "1"},
		}
		for key, make := range keys {
			fixture.Do(t, d, make...)
			before := fixture.Content(t, d, key)
			_, err := c.Mutex(key).Lock(t.Context())
			check.Is(t, key+": Lock", err, redlatch.ErrWrongType)
			_, err = c.Mutex(key).TryLock(t.Context())
			check.Is(t, key+": TryLock", err, redlatch.ErrWrongType)
			_, err = c.Mutex(key).ForceUnlock(t.Context())
			check.Is(t, key+": ForceUnlock", err, redlatch.ErrWrongType)
			_, err = c.Mutex(key).Status(t.Context())
			check.Is(t, key+": Status", err, redlatch.ErrWrongType)
			if fixture.Content(t, d, key) != before {
				t.Errorf("%s was changed", key)
			}
			fixture.Do(t, d, "DEL", key)
		}
		one := name + "-one-field"
		fixture.Do(t, d, "HSET", one, "name", "Ada")
		_, err := c.Mutex(one).Lock(t.Context())
		check.Is(t, "Lock on a hash of one field", err, redlatch.ErrWrongType)
		_, err = c.Mutex(one).ForceUnlock(t.Context())
		check.Is(t, "ForceUnlock of a hash of one field", err, redlatch.ErrWrongType)
		fixture.Do(t, d, "DEL", one)
	})
}

func TestOpenEndsWithItsContext(t *testing.T) {
	server := redistest.Start(t)
	server.Freeze()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	began := time.Now()
	_, err := redlatch.Open(ctx, server.URL(), redlatch.Config{})
	check.Is(t, "Open of a frozen server", err, context.DeadlineExceeded)
	check.Within(t, "Open", time.Since(began), 0, 100*time.Millisecond+fixture.Slack)
}

func TestABackoffThatCannotWork(t *testing.T) {
	for _, cfg := range []redlatch.Config{
		{Backoff: redlatch.Backoff{First: time.Second}},
		{Backoff: redlatch.Backoff{First: time.Microsecond, Max: time.Second}},
		{Backoff: redlatch.Backoff{Max: -1}},
		{Backoff: redlatch.Backoff{Max: time.Second}, Protect: true},
	} {
		_, err := redlatch.Open(t.Context(), "memory://", cfg)
		if config, ok := errors.AsType[*redlatch.ConfigError](err); !ok || config.Field != "Backoff" {
			t.Errorf("Open with %+v is %v, want a ConfigError for Backoff", cfg.Backoff, err)
		}
	}
	c := fixture.Open(t, "memory://", redlatch.Config{})
	for _, opt := range []redlatch.LockOption{
		redlatch.WithBackoff(0, 0), redlatch.WithBackoff(-1, time.Second), redlatch.WithBackoff(time.Microsecond, time.Second),
		redlatch.WithBackoff(time.Second, time.Millisecond),
	} {
		_, err := c.Mutex("job").Lock(t.Context(), opt)
		if config, ok := errors.AsType[*redlatch.ConfigError](err); !ok || config.Field != "WithBackoff" {
			t.Errorf("Lock is %v, want a ConfigError for WithBackoff", err)
		}
	}
}

// The error says which of the two pauses is wrong, and what it is.
func TestTheErrorOfABackoffNamesThePause(t *testing.T) {
	c := fixture.Open(t, "memory://", redlatch.Config{})
	for want, b := range map[string]redlatch.Backoff{
		"first is -1ns, not between 1ms and ": {First: -1, Max: time.Second},
		"first is 1µs, not between 1ms and ":  {First: time.Microsecond, Max: time.Second},
		"max is 0s, not between 1s and ":      {First: time.Second},
		"max is 1ms, not between 1s and ":     {First: time.Second, Max: time.Millisecond},
	} {
		_, err := redlatch.Open(t.Context(), "memory://", redlatch.Config{Backoff: b})
		if err == nil || !strings.Contains(err.Error(), "Backoff: "+want) {
			t.Errorf("Open: %v, want %q", err, want)
		}
		_, err = c.Mutex("job").Lock(t.Context(), redlatch.WithBackoff(b.First, b.Max))
		if err == nil || !strings.Contains(err.Error(), "WithBackoff: "+want) {
			t.Errorf("Lock: %v, want %q", err, want)
		}
	}
}
