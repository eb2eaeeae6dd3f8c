package inspect_test

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	_ "github.com/redlatch/redlatch/driver/memory"
	"github.com/redlatch/redlatch/driver/rueidis"
	"github.com/redlatch/redlatch/inspect"
	"github.com/redlatch/redlatch/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// fast is a configuration that waits for nothing.
var fast = inspect.Config{Rate: 1_000_000}

// eachServer runs a test on an embedded server, a real one and a cluster, with a prefix for its
// names. The keys of all tests on one server are different.
func eachServer(t *testing.T, test func(t *testing.T, c *redlatch.Client, p string)) {
	t.Helper()
	for kind, url := range map[string]func() string{
		"memory":  func() string { return "memory://" + redistest.Name(t) },
		"redis":   func() string { return redistest.Shared(t).URL() },
		"cluster": func() string { return "redis+cluster://" + strings.Join(redistest.SharedCluster(t).Addrs(), ",") },
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			test(t, open(t, url(), redlatch.Config{}), redistest.Name(t)+":")
		})
	}
}

// open connects a client until the end of the test.
func open(t testing.TB, url string, cfg redlatch.Config) *redlatch.Client {
	t.Helper()
	cfg.Logger = slog.New(slog.DiscardHandler)
	c := redistest.Must(redlatch.Open(context.Background(), url, cfg))
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

func inspector(t testing.TB, d driver.Driver, cfg inspect.Config) *inspect.Inspector {
	t.Helper()
	return redistest.Must(inspect.New(d, cfg))
}

// do sends a command whose first argument is its key. It has to succeed.
func do(t testing.TB, d driver.Driver, words ...string) driver.Reply {
	t.Helper()
	reply := d.Do(t.Context(), driver.Command{Words: words, Key: words[1]})
	if reply.Err != nil {
		t.Fatalf("%.200v: %v", words, reply.Err)
	}
	return reply
}

// walked are all locks that match, by their names. Each may come once.
func walked(t testing.TB, i *inspect.Inspector, pattern string) map[string]inspect.Lock {
	t.Helper()
	return byName(t, i.Locks(t.Context(), pattern), func(l inspect.Lock) string { return l.Name })
}

func byName[T any](t testing.TB, found iter.Seq2[T, error], name func(T) string) map[string]T {
	t.Helper()
	all := make(map[string]T)
	for one, err := range found {
		must(t, one, err)
		if _, twice := all[name(one)]; twice {
			t.Errorf("%q was yielded twice", name(one))
		}
		all[name(one)] = one
	}
	return all
}

// codes are the codes of the findings of a lock.
func codes(l inspect.Lock) string {
	var all []string
	for _, f := range l.Findings {
		all = append(all, f.Code)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// java is the owner of a thread of a Java process.
func java(process, thread int) string {
	return fmt.Sprintf("%08d-0000-4000-8000-000000000000:%d", process, thread)
}

func eventually(t testing.TB, cond func() bool, what string) {
	t.Helper()
	redistest.Eventually(t, time.Minute, cond, what)
}

func must[T any](t testing.TB, v T, err error) T {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// connectTo connects to one server until the end of the test.
func connectTo(t testing.TB, s *redistest.Server) *rueidis.Driver {
	t.Helper()
	d := redistest.Must(rueidis.Open(t.Context(), rueidis.Options{Address: s.Addr()}))
	t.Cleanup(d.Close)
	return d
}
