package fence_test

import (
	"context"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/fence"
	"github.com/redlatch/redlatch/fence/internal/fencetest"
)

// Goal: one request does not refuse those of all others for ever.
func TestHandlerRefusesATokenThatNoLockIssues(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // the clock stands
		clock, own := fence.HTTPConfig{Store: new(fence.Memory)}, fence.HTTPConfig{Store: new(fence.Memory), MaxToken: 1000}
		day := time.Now().Add(24 * time.Hour).UnixMicro()
		for highest, cfg := range map[int64]fence.HTTPConfig{day: clock, 1000: own} {
			var writes served
			guarded := fence.Handler(&writes, cfg)
			for _, token := range []int64{1<<63 - 1, highest + 1} {
				if got := answer(guarded, put(t.Context(), "/", strconv.FormatInt(token, 10))).StatusCode; got != http.StatusBadRequest {
					t.Errorf("the token %d is answered by %d", token, got)
				}
			}
			for _, token := range []int64{1, highest} {
				if got := answer(guarded, put(t.Context(), "/", strconv.FormatInt(token, 10))).StatusCode; got != http.StatusOK {
					t.Errorf("after them, the token %d is answered by %d", token, got)
				}
			}
		}
	})
}

// Goal: clients do not decide how much a process remembers. Method: a million resources, and
// long ones; what was in use meanwhile is still guarded.
func TestLongMemoryIsBounded(t *testing.T) {
	var m fence.Memory
	pass := func(token int64, resource string) error { return m.Pass(context.Background(), token, resource) }
	long := strings.Repeat("x", 4000)
	for i := range 1_000_000 {
		if err := pass(1, strconv.Itoa(i)); err != nil {
			t.Fatal(err)
		}
		if i%50_000 == 0 {
			if err := pass(int64(10+i), "in use"); err != nil {
				t.Fatal(err)
			}
		}
		if i%5 == 0 {
			if err := pass(2, long+strconv.Itoa(i)); err != nil {
				t.Fatal(err)
			}
		}
	}
	fencetest.WantStale(t, pass(9, "in use"), 9, 950_010)
	fencetest.WantStale(t, pass(1, long+"999995"), 1, 2)
	var used runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&used)
	if used.HeapAlloc > 40<<20 {
		t.Errorf("it uses %d MB", used.HeapAlloc>>20)
	}
	runtime.KeepAlive(&m)
}
