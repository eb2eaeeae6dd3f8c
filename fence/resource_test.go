package fence_test

import (
	"context"
	"math"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/fence"
	"github.com/redlatch/redlatch/internal/redistest"
)

// alone is a configuration whose store nobody else has.
func alone() fence.HTTPConfig {
	return fence.HTTPConfig{Store: new(fence.Memory), MaxToken: math.MaxInt64}
}

// Goal: the handlers of one store know of each other, also those without a store.
func TestHandlersOfOneStoreRefuseTogether(t *testing.T) {
	t.Parallel()
	path := "/" + redistest.Name(t)
	for what, cfg := range map[string]fence.HTTPConfig{"no store": {}, "one store": alone()} {
		var writes, deletes served
		put, remove := fence.Handler(&writes, cfg), fence.Handler(&deletes, cfg)
		if status := answer(put, put34(t, path)).StatusCode; status != http.StatusOK {
			t.Errorf("%s: the newer one got status %d", what, status)
		}
		if status := answer(remove, put33(t, path)).StatusCode; status != http.StatusConflict || len(deletes.tokens) != 0 {
			t.Errorf("%s: the older one got status %d, run with %v", what, status, deletes.tokens)
		}
	}
	var writes served
	if status := answer(fence.Handler(&writes, alone()), put33(t, path)).StatusCode; status != http.StatusOK {
		t.Errorf("another store: status %d", status)
	}
}

func put33(t *testing.T, path string) *http.Request { return put(t.Context(), path, "33") }
func put34(t *testing.T, path string) *http.Request { return put(t.Context(), path, "34") }

func TestANewerRequestWaitsForAnOlderOneAtAnotherHandlerOfItsStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg, g := alone(), newGate()
		one, other := fence.Handler(g, cfg), fence.Handler(g, cfg)
		go answer(one, put33(t, "/r"))
		synctest.Wait()
		go answer(other, put34(t, "/r"))
		synctest.Wait()
		if first := <-g.entered; first != 33 || len(g.entered) != 0 {
			t.Errorf("at work are %d and %d more", first, len(g.entered))
		}
		close(g.open)
		synctest.Wait()
		if second := <-g.entered; second != 34 {
			t.Errorf("then %d", second)
		}
	})
}

// These two would let a newer request overtake an older one.
func TestHandlerRefusesWhatItCannotGuard(t *testing.T) {
	t.Parallel()
	late := http.TimeoutHandler(new(served), time.Second, "")
	for what, wrong := range map[string]struct {
		next http.Handler
		cfg  fence.HTTPConfig
	}{
		"TimeoutHandler":             {late, alone()},
		"a store that has no equals": {new(served), fence.HTTPConfig{Store: manyStores{new(fence.Memory)}}},
	} {
		func() {
			defer func() {
				if why, _ := recover().(string); !strings.HasPrefix(why, "fence: ") {
					t.Errorf("%s: %q", what, why)
				}
			}()
			fence.Handler(wrong.next, wrong.cfg)
		}()
	}
}

// manyStores is a store that cannot be compared with another one.
type manyStores []*fence.Memory

func (m manyStores) Pass(ctx context.Context, token int64, resource string) error {
	return m[0].Pass(ctx, token, resource)
}

// With the timeout around the guard, a request that is out of time keeps its place for as
// long as it is at work.
func TestATimeoutAroundTheHandlerLetsNobodyOvertake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		guarded := http.TimeoutHandler(fence.Handler(g, alone()), time.Second, "")
		if status := answer(guarded, put33(t, "/r")).StatusCode; status != http.StatusServiceUnavailable {
			t.Errorf("the older one got status %d", status)
		}
		<-g.entered
		if status := answer(guarded, put34(t, "/r")).StatusCode; status != http.StatusServiceUnavailable || len(g.entered) != 0 {
			t.Errorf("the newer one got status %d, %d are at work", status, len(g.entered))
		}
		close(g.open)
	})
}

// Goal: the rule by which a request names its resource, in all that may vary.
func TestTheNameOfAResourceIsItsPath(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		one, other string
		same       bool
	}{
		{"/a/b", "/a/b", true},
		{"/a/b", "//a//b", true},
		{"/a/b", "/a/b/", true},
		{"/a/b", "/a/./x/../b", true},
		{"/a/b", "/%61/b", true},
		{"/a/b", "/a/%2e/b", true},
		{"/a/b", "/a/b?c=d", true},
		{"/a/b", "http://elsewhere.example:81/a/b", true},
		{"/a%2Fb", "/a%2fb", true},
		{"/", "", true},
		{"/a/b", "/a%2Fb", false},
		{"/a/b", "/A/b", false},
		{"/a/b", "/a/b/c", false},
		{"/a%3Fb", "/a?b", false},
		{"/a%252Fb", "/a%2Fb", false},
		{"/a%00", "/a", false},
	} {
		guarded := fence.Handler(new(served), alone())
		answer(guarded, named(t, c.one, "34"))
		status := answer(guarded, named(t, c.other, "33")).StatusCode
		if same := status == http.StatusConflict; same != c.same {
			t.Errorf("%q and %q are one resource: %v, want %v", c.one, c.other, same, c.same)
		}
	}
}

// Goal: the documented way to name what a handler writes, where a router takes several paths
// for one.
func TestTheNameOfAResourceCanBeWhatItsPatternFound(t *testing.T) {
	t.Parallel()
	cfg, mux := alone(), http.NewServeMux()
	cfg.Resource = func(r *http.Request) string { return "stock:" + r.PathValue("id") }
	for _, pattern := range []string{"PUT /stock/{id}", "PUT /stock/{id}/{$}", "PUT /deep/{id...}", "PUT /below/{id}/"} {
		mux.Handle(pattern, fence.Handler(new(served), cfg))
	}
	if status := answer(mux, named(t, "/stock/7", "34")).StatusCode; status != http.StatusOK {
		t.Errorf("the newer one got status %d", status)
	}
	for _, path := range []string{"/stock/7/", "/stock/7/%2F", "/stock/%37", "/deep/7", "/below/7/x"} {
		if status := answer(mux, named(t, path, "33")).StatusCode; status != http.StatusConflict {
			t.Errorf("%s with an older token got status %d", path, status)
		}
	}
}

// named makes a request as a server reads it.
func named(t *testing.T, target, token string) *http.Request {
	t.Helper()
	r := put(t.Context(), "/", token)
	if r.URL = new(url.URL); target != "" {
		var err error
		r.URL, err = url.ParseRequestURI(target)
		must(t, err)
	}
	return r
}
