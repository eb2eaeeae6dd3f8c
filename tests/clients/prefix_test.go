package clients_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/fixture"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// What stands in front of the names of locks (Config.Prefix).

// Goal: behind a prefix a lock is the very lock that others know by the whole name. Method: it
// leaves the same keys, excludes the others, and wakes them without a poll.
func TestALockBehindAPrefixIsTheLockOfTheWholeName(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, 3, 0)
	for what, url := range map[string]string{"redis": redistest.Start(t).URL(), "cluster": fixture.ClusterURL(cluster)} {
		for kind, l := range stage.Ways {
			t.Run(what+"/"+kind, func(t *testing.T) {
				t.Parallel()
				ctx := t.Context()
				short, whole := "a"+kind, "team:orders:a"+kind
				behind := fixture.Open(t, url, redlatch.Config{Prefix: "team:orders:", PollCap: time.Minute})
				plain := fixture.Open(t, url, redlatch.Config{PollCap: time.Minute})
				rival := l.Of(plain, whole)
				if kind == "read" {
					rival = plain.RWMutex(whole)
				}
				other := check.Must(l.Of(plain, whole).Lock(ctx, l.Opts...))
				keys := ownKeys(t, url, cluster, whole, other.Owner())
				check.Is(t, "Unlock", other.Unlock(ctx), nil)
				h := check.Must(l.Of(behind, short).Lock(ctx, l.Opts...))
				if got := ownKeys(t, url, cluster, whole, h.Owner()); !slices.Equal(got, keys) {
					t.Errorf("behind the prefix the keys are %q, want %q", got, keys)
				}
				_, err := rival.TryLock(ctx)
				check.Is(t, "TryLock of the whole name", err, redlatch.ErrNotAcquired)
				waited := make(chan error, 1)
				go func() {
					next, err := rival.Lock(ctx, redlatch.WithWait(30*time.Second))
					if err == nil {
						err = next.Unlock(ctx)
					}
					waited <- err
				}()
				redistest.Eventually(t, 10*time.Second, func() bool { return plain.Stats().Subscriptions > 0 }, "the other waits")
				check.Is(t, "Unlock", h.Unlock(ctx), nil)
				check.Is(t, "the wait for the whole name", <-waited, nil)
			})
		}
	}
}

// ownKeys are the keys of a lock and its neighbours, with the owner's name cut out.
func ownKeys(t *testing.T, url string, cluster *redistest.Cluster, name, owner string) (keys []string) {
	t.Helper()
	servers := cluster.Servers
	if !strings.HasPrefix(url, "redis+cluster") {
		d := fixture.Raw(t, url)
		for _, r := range fixture.Do(t, d, "KEYS", "*"+name+"*").Array {
			keys = append(keys, r.Str)
		}
		servers = nil
	}
	for _, s := range servers {
		keys = append(keys, s.Keys(t, "*"+name+"*")...)
	}
	for i, key := range keys {
		keys[i] = strings.ReplaceAll(key, owner, "owner")
	}
	slices.Sort(keys)
	return keys
}

// Goal: whoever made the lock reads the name that he gave it.
func TestThePrefixIsShownToNobody(t *testing.T) {
	t.Parallel()
	fixture.EachServer(t, func(t *testing.T, url string) {
		var events []string
		c := fixture.Open(t, url, redlatch.Config{Prefix: redistest.Name(t) + "secret:", Observer: fixture.Observer(func(_ context.Context, e redlatch.Event) { events = append(events, e.Lock) })})
		for kind, l := range stage.Ways {
			if kind == "multi" {
				continue
			}
			lock := l.Of(c, kind)
			h := check.Must(lock.Lock(t.Context(), l.Opts...))
			if h.Name() != kind || lock.Name() != kind || strings.Contains(h.String(), "secret") {
				t.Errorf("%s: the hold is %v, the lock %q", kind, h, lock.Name())
			}
			_, err := c.Mutex(kind).TryLock(t.Context())
			if err == nil || strings.Contains(err.Error(), "secret") {
				t.Errorf("%s: TryLock is %v", kind, err)
			}
			check.Is(t, "Unlock", h.Unlock(t.Context()), nil)
		}
		if text := fmt.Sprint(events); len(events) == 0 || strings.Contains(text, "secret") {
			t.Errorf("the events are of %s", text)
		}
	})
}

// The watchdog knows no prefix: it reads the key.
func TestTheSessionHasTheWholeName(t *testing.T) {
	t.Parallel()
	fixture.EachServer(t, func(t *testing.T, url string) {
		c := fixture.Open(t, url, redlatch.Config{Prefix: "p:", Protect: true})
		h := check.Must(c.Mutex(redistest.Name(t)).Lock(t.Context()))
		raw, want := fixture.Raw(t, url), protocol.SessionField(h.Owner(), "p:"+h.Name())
		redistest.Eventually(t, 5*time.Second, func() bool {
			return strings.Contains(fmt.Sprint(fixture.Do(t, raw, "HKEYS", protocol.SessionKey(c.ID()))), want)
		}, "the session has the whole name")
	})
}

// Two clients, one key: by their prefixes the members of a Multi are the same lock.
func TestAMultiSeesThatTwoPrefixesMeet(t *testing.T) {
	t.Parallel()
	name := "memory://" + redistest.Name(t)
	a, b := fixture.Open(t, name, redlatch.Config{Prefix: "p:"}), fixture.Open(t, name, redlatch.Config{})
	if _, err := redlatch.NewMulti(a.Mutex("x"), b.Mutex("p:x")); err == nil {
		t.Error("a Multi takes one key twice")
	}
	if _, err := redlatch.NewMulti(a.Mutex("x"), b.Mutex("x")); err != nil {
		t.Errorf("a Multi refuses two keys: %v", err)
	}
}

func TestAPrefixThatCannotBe(t *testing.T) {
	t.Parallel()
	for _, prefix := range []string{"{app}:", "{", "app}", "a{}", "a\n", "\xff", strings.Repeat("x", 1025)} {
		_, err := redlatch.Open(t.Context(), "memory://", redlatch.Config{Prefix: prefix})
		if config, ok := errors.AsType[*redlatch.ConfigError](err); !ok || config.Field != "Prefix" {
			t.Errorf("%q: Open is %v, want a ConfigError for Prefix", prefix, err)
		}
	}
	c := fixture.Open(t, "memory://", redlatch.Config{Prefix: strings.Repeat("x", 1020)})
	for name, want := range map[string]error{"": redlatch.ErrInvalidName, "four": nil, "12345": redlatch.ErrInvalidName} {
		_, err := c.Mutex(name).TryLock(context.Background())
		if !errors.Is(err, want) {
			t.Errorf("%q: TryLock is %v, want %v", name, err, want)
		}
	}
}
