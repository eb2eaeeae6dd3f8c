package fence_test

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/fence"
)

// Goal: a request that was admitted does not wait for it again.
// Method: a guard around the routes and one around a route, for the same resource, and a
// newer request that waits between the two.
func TestAGuardInsideAGuardDoesNotWaitForItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		cfg, g := alone(), newGate()
		var writes served
		route := fence.Handler(&writes, cfg)
		guarded := fence.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			g.ServeHTTP(w, r)
			route.ServeHTTP(w, r)
		}), cfg)
		start, status := time.Now(), make(chan int, 2)
		for _, token := range []string{"33", "34"} {
			go func() { status <- answer(guarded, put(ctx, "/r", token)).StatusCode }()
			synctest.Wait()
		}
		close(g.open)
		if one, other := <-status, <-status; one != http.StatusOK || other != http.StatusOK || time.Since(start) > 0 {
			t.Errorf("after %v: status %d and %d, written with %v", time.Since(start), one, other, writes.tokens)
		}
	})
}
