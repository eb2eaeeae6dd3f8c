package fence_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/fence"
	"github.com/redlatch/redlatch/internal/redistest"
)

// put makes a request with a token; an empty one leaves the header away.
func put(ctx context.Context, path, token string) *http.Request {
	r := httptest.NewRequest(http.MethodPut, path, nil).WithContext(ctx)
	if token != "" {
		r.Header.Set(fence.Header, token)
	}
	return r
}

// answer has a handler serve a request.
func answer(h http.Handler, r *http.Request) *http.Response {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

// served is a handler that notes the tokens it was run with.
type served struct {
	mu     sync.Mutex
	tokens []int64
}

func (s *served) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tokens = append(s.tokens, fence.TokenFrom(r.Context()))
}

func TestHandlerRefusesAStaleHolder(t *testing.T) {
	t.Parallel()
	var writes served
	guarded := fence.Handler(&writes, alone())
	for _, c := range []struct {
		path, token string
		status      int
		last        string
	}{
		{path: "/stock/7", token: "33", status: http.StatusOK},
		{path: "/stock/7", token: "34", status: http.StatusOK},
		{path: "/stock/7", token: "33", status: http.StatusConflict, last: "34"},
		{path: "/stock/7", token: "34", status: http.StatusOK},
		{path: "/stock/8", token: "1", status: http.StatusOK},
		{path: "/stock/7", token: "", status: http.StatusPreconditionRequired},
		{path: "/stock/7", token: "0", status: http.StatusPreconditionRequired},
		{path: "/stock/7", token: "-35", status: http.StatusPreconditionRequired},
		{path: "/stock/7", token: "x", status: http.StatusBadRequest},
		{path: "/stock/7", token: "+35", status: http.StatusBadRequest},
		{path: "/stock/7", token: "35.0", status: http.StatusBadRequest},
		{path: "/stock/7", token: "99999999999999999999", status: http.StatusBadRequest},
	} {
		response := answer(guarded, put(t.Context(), c.path, c.token))
		if got := response.Header.Get(fence.Header); response.StatusCode != c.status || got != c.last {
			t.Errorf("%s with token %q: status %d and token %q, want %d and %q", c.path, c.token, response.StatusCode, got, c.status, c.last)
		}
	}
	if want := []int64{33, 34, 34, 1}; !slices.Equal(writes.tokens, want) {
		t.Errorf("the guarded handler ran with %v, want %v", writes.tokens, want)
	}
	twice := put(t.Context(), "/stock/7", "34")
	twice.Header.Add(fence.Header, "35")
	if status := answer(guarded, twice).StatusCode; status != http.StatusBadRequest {
		t.Errorf("two tokens: status %d", status)
	}
}

// Goal: nobody writes after somebody newer has.
// Method: a handler that takes its time between the check and the effect, as every
// handler does, and many requests with random tokens at two Handlers of one store.
func TestHandlerNeverGoesBack(t *testing.T) {
	t.Parallel()
	for range redistest.Stretch(5) {
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		synctest.Test(t, func(t *testing.T) { handleAtRandom(t, seed) })
	}
}

func handleAtRandom(t *testing.T, seed uint64) {
	roll := rand.New(rand.NewPCG(seed, 0))
	var writes served
	slow := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		pause, err := time.ParseDuration(r.URL.Query().Get("pause"))
		if err != nil {
			t.Error(err)
		}
		time.Sleep(pause)
		writes.ServeHTTP(w, r)
	})
	cfg := alone()
	guarded := []http.Handler{fence.Handler(slow, cfg), fence.Handler(slow, cfg)}
	var done sync.WaitGroup
	var mu sync.Mutex
	count := make(map[int]int)
	for i := range 300 {
		token := strconv.Itoa(1 + i/10 + roll.IntN(10))
		pause := time.Duration(roll.IntN(20)) * time.Millisecond
		ctx := t.Context()
		if roll.IntN(10) == 0 { // some leave before they are admitted
			var leave context.CancelFunc
			ctx, leave = context.WithTimeout(ctx, time.Duration(roll.IntN(20))*time.Millisecond)
			defer leave()
		}
		done.Go(func() {
			status := answer(guarded[i%2], put(ctx, "/r?pause="+pause.String(), token)).StatusCode
			mu.Lock()
			defer mu.Unlock()
			count[status]++
		})
		time.Sleep(time.Duration(roll.IntN(3)) * time.Millisecond)
	}
	done.Wait()
	if !slices.IsSorted(writes.tokens) {
		t.Errorf("seed %d: written in the order %v", seed, writes.tokens)
	}
	if count[http.StatusOK] != len(writes.tokens) || count[http.StatusOK] == 0 || count[http.StatusConflict] == 0 {
		t.Errorf("seed %d: %d writes, answers %v", seed, len(writes.tokens), count)
	}
}

// gate is a handler that takes as long as the test wants.
type gate struct {
	entered chan int64
	open    chan struct{}
}

func newGate() *gate { return &gate{make(chan int64, 10), make(chan struct{})} }

func (g *gate) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	g.entered <- fence.TokenFrom(r.Context())
	<-g.open
}

func TestANewerRequestWaitsForAnOlderOneThatHasPassed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		guarded := fence.Handler(g, alone())
		go answer(guarded, put(t.Context(), "/r", "33"))
		go answer(guarded, put(t.Context(), "/r", "33")) // the same holder, at the same time
		synctest.Wait()
		go answer(guarded, put(t.Context(), "/r", "34"))
		go answer(guarded, put(t.Context(), "/other", "1")) // waits for nobody
		synctest.Wait()
		if got := []int64{<-g.entered, <-g.entered, <-g.entered}; !slices.Equal(got, []int64{33, 33, 1}) || len(g.entered) != 0 {
			t.Errorf("at work are %v and %d more", got, len(g.entered))
		}
		close(g.open)
		synctest.Wait()
		if got := <-g.entered; got != 34 {
			t.Errorf("then %d", got)
		}
	})
}

// A holder that keeps several requests at work all the time does not keep the next one out.
func TestAnOlderHolderGetsNoFurtherRequestInBeforeANewerOneThatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		guarded := fence.Handler(g, alone())
		status := make(chan int, 2)
		go answer(guarded, put(t.Context(), "/r", "33"))
		synctest.Wait()
		go answer(guarded, put(t.Context(), "/r", "35"))
		synctest.Wait()
		for _, token := range []string{"33", "34"} {
			go func() { status <- answer(guarded, put(t.Context(), "/r", token)).StatusCode }()
		}
		synctest.Wait()
		close(g.open)
		synctest.Wait()
		if got := []int64{<-g.entered, <-g.entered}; !slices.Equal(got, []int64{33, 35}) || len(g.entered) != 0 {
			t.Errorf("run were %v and %d more", got, len(g.entered))
		}
		if a, b := <-status, <-status; a != http.StatusConflict || b != http.StatusConflict {
			t.Errorf("the older ones got status %d and %d", a, b)
		}
	})
}

func TestAnOlderRequestIsRefusedWhileANewerOneIsAtWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		guarded := fence.Handler(g, alone())
		go answer(guarded, put(t.Context(), "/r", "34"))
		synctest.Wait()
		response := answer(guarded, put(t.Context(), "/r", "33"))
		if response.StatusCode != http.StatusConflict || response.Header.Get(fence.Header) != "34" {
			t.Errorf("status %d, header %q", response.StatusCode, response.Header.Get(fence.Header))
		}
		close(g.open)
	})
}

func TestARequestThatEndsBeforeItsTurnIsNotRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, cfg := newGate(), alone()
		var log strings.Builder
		cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
		guarded := fence.Handler(g, cfg)
		go answer(guarded, put(t.Context(), "/r", "33"))
		synctest.Wait()
		<-g.entered
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if status := answer(guarded, put(ctx, "/r", "34")).StatusCode; status != http.StatusServiceUnavailable {
			t.Errorf("status %d", status)
		}
		if log.Len() > 0 {
			t.Errorf("the store is blamed: %s", log.String())
		}
		// It has not passed, so the older holder goes on.
		go answer(guarded, put(t.Context(), "/r", "33"))
		synctest.Wait()
		if len(g.entered) != 1 {
			t.Error("the older holder does not get in any more")
		}
		close(g.open)
	})
}

func TestAHandlerThatPanicsLeavesItsTurn(t *testing.T) {
	t.Parallel()
	first := true
	guarded := fence.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		if first {
			first = false
			panic(http.ErrAbortHandler)
		}
	}), alone())
	func() {
		defer func() { recover() }()
		answer(guarded, put(t.Context(), "/r", "33"))
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if status := answer(guarded, put(ctx, "/r", "34")).StatusCode; status != http.StatusOK {
		t.Errorf("status %d", status)
	}
}

// brokenStore is a store that fails, and says so with what clients may not see.
type brokenStore struct{}

func (brokenStore) Pass(context.Context, int64, string) error {
	return errors.New("secret-host:5432 refused")
}

func TestAStoreThatFailsLetsNobodyThrough(t *testing.T) {
	t.Parallel()
	var writes served
	var log strings.Builder
	guarded := fence.Handler(&writes, fence.HTTPConfig{Store: brokenStore{}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	response := answer(guarded, put(t.Context(), "/r", "33"))
	body, err := io.ReadAll(response.Body)
	must(t, err)
	if response.StatusCode != http.StatusServiceUnavailable || len(writes.tokens) != 0 {
		t.Errorf("status %d, run with %v", response.StatusCode, writes.tokens)
	}
	if strings.Contains(string(body), "secret") || !strings.Contains(log.String(), "secret-host") {
		t.Errorf("the client reads %q, the log %q", body, log.String())
	}
}

func TestHandlersThatShareAStoreShareTheLastToken(t *testing.T) {
	t.Parallel()
	cfg := fence.HTTPConfig{Store: new(fence.Memory), Resource: func(r *http.Request) string { return r.URL.Query().Get("id") }}
	var writes served
	if status := answer(fence.Handler(&writes, cfg), put(t.Context(), "/a?id=7", "34")).StatusCode; status != http.StatusOK {
		t.Errorf("status %d", status)
	}
	if status := answer(fence.Handler(&writes, cfg), put(t.Context(), "/b?id=7", "33")).StatusCode; status != http.StatusConflict {
		t.Errorf("status %d", status)
	}
}

// failsFirst is a store that fails for the first token.
type failsFirst struct{ *fence.Memory }

func (s failsFirst) Pass(ctx context.Context, token int64, resource string) error {
	if token == 1 {
		return errors.New("refused")
	}
	return s.Memory.Pass(ctx, token, resource)
}

// stuck is a writer that hangs until it is closed.
type stuck chan struct{}

func (s stuck) Write(text []byte) (int, error) { <-s; return len(text), nil }

// Goal: a log that hangs when it is told of a store that fails holds up no other request.
func TestALogThatHangsHoldsUpNoOtherRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := make(stuck)
		defer synctest.Wait()
		defer close(log)
		guarded := fence.Handler(new(served), fence.HTTPConfig{Store: failsFirst{new(fence.Memory)}, Logger: slog.New(slog.NewTextHandler(log, nil))})
		go answer(guarded, put(t.Context(), "/stock/7", "1"))
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if status := answer(guarded, put(ctx, "/stock/7", "2")).StatusCode; status != http.StatusOK {
			t.Errorf("status %d", status)
		}
	})
}
