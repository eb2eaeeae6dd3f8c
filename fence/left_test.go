package fence_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/fence"
	"github.com/redlatch/redlatch/internal/redistest"
)

// Goal: what the documentation says of a client that leaves while its request waits. The
// server does not tell, as long as there is a body to read, and the request runs later.
// http.TimeoutHandler around the guard ends its wait.
func TestARequestWithABodyWaitsOnWhenItsClientHasLeft(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		around func(http.Handler) http.Handler
		runs   bool
	}{
		"no timeout": {func(h http.Handler) http.Handler { return h }, true},
		"a timeout":  {func(h http.Handler) http.Handler { return http.TimeoutHandler(h, time.Millisecond, "") }, false},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			g := newGate()
			cfg := alone()
			waits, over := make(chan bool, 1), make(chan bool, 1)
			cfg.Resource = func(*http.Request) string { waits <- true; return "r" }
			guarded := fence.Handler(g, cfg)
			turns := c.around(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				guarded.ServeHTTP(w, r)
				over <- true
			}))
			server := httptest.NewServer(turns)
			defer server.Close()
			defer close(g.open)
			go answer(guarded, put33(t, "/r"))
			<-g.entered
			<-waits
			ctx, leave := context.WithCancel(t.Context())
			go func() { <-waits; leave() }()
			request, err := http.NewRequestWithContext(ctx, http.MethodPut, server.URL, strings.NewReader("body"))
			must(t, err)
			request.Header.Set(fence.Header, "34")
			if response, err := server.Client().Do(request); err == nil {
				response.Body.Close()
			} else if !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			if !c.runs {
				<-over
			}
			g.open <- struct{}{} // the older one returns
			if !c.runs {
				if len(g.entered) != 0 {
					t.Error("it runs although its time is over")
				}
				return
			}
			redistest.Eventually(t, 10*time.Second, func() bool { return len(g.entered) == 1 }, "the newer one runs")
		})
	}
}
