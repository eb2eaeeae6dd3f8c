package watchdog

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/script"
)

// ask sends calls that do not depend on one another, and returns a result for each. It asks
// several servers side by side, and blocks for at most Config.CommandTimeout. It does not ask a
// server that did not answer a moment ago.
func (w *Watchdog) ask(ctx context.Context, calls ...script.Call) []script.Result {
	results := make([]script.Result, len(calls))
	var asking sync.WaitGroup
	for server, part := range w.byServer(calls) {
		asking.Go(func() { w.askServer(ctx, server, calls, part, results) })
	}
	asking.Wait()
	return results
}

// askServer asks one server those calls whose indices are in part.
func (w *Watchdog) askServer(ctx context.Context, server string, calls []script.Call, part []int, results []script.Result) {
	if !w.servers.admit(server) {
		for _, at := range part {
			results[at].Reply.Err = errSilent
		}
		return
	}
	some := make([]script.Call, len(part))
	for i, at := range part {
		some[i] = calls[at]
	}
	answered := false
	for i, result := range w.runner.RunEach(ctx, some...) {
		results[part[i]] = result
		answered = answered || isAnswer(result.Reply.Err)
	}
	w.noteServer(ctx, server, answered)
}

// byServer divides calls, by their indices, among the servers.
func (w *Watchdog) byServer(calls []script.Call) map[string][]int {
	parts := make(map[string][]int)
	for i, c := range calls {
		server := w.serverOf(c.Key())
		parts[server] = append(parts[server], i)
	}
	return parts
}

// serverOf names the server that has a key. If there is only one server, its name is empty.
func (w *Watchdog) serverOf(key string) string {
	if sharded, ok := w.driver.(driver.Sharded); ok {
		return sharded.Shard(key)
	}
	return ""
}

// isAnswer says whether an error, or none, shows that a server answers.
func isAnswer(err error) bool {
	_, refused := errors.AsType[*driver.ServerError](err)
	return err == nil || refused
}

// errSilent is the error of a call that was not sent.
var errSilent = errors.New("the server did not answer a moment ago")

// servers knows the servers that do not answer. Such a server gets only one request at a time
// until it answers again, so that it does not delay the work on the others.
type servers struct {
	mu     sync.Mutex
	silent map[string]time.Time // when each may be asked again
	wait   time.Duration        // between two attempts
	bound  time.Duration        // of one attempt
}

// admit says whether a server may be asked now. If it returns true, note must follow.
func (s *servers) admit(server string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	until, silent := s.silent[server]
	if !silent {
		return true
	}
	now := time.Now()
	if now.Before(until) {
		return false
	}
	s.silent[server] = now.Add(s.bound + s.wait) // nobody else tries meanwhile
	return true
}

// note notes whether a server has answered, and reports whether that is a change.
func (s *servers) note(server string, answered bool) (news bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, silent := s.silent[server]
	if answered {
		delete(s.silent, server)
	} else {
		s.silent[server] = time.Now().Add(s.wait)
	}
	return silent == answered
}

// noteServer is servers.note, and logs each change.
func (w *Watchdog) noteServer(ctx context.Context, server string, answered bool) {
	if ctx.Err() != nil || !w.servers.note(server, answered) {
		return
	}
	if answered {
		w.log.Info("server answers again", "server", protocol.Show(server))
	} else {
		w.log.Error("server does not answer: what it has is not renewed", "server", protocol.Show(server))
	}
}
