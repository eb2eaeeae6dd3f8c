package rueidis

import (
	"fmt"
	"slices"
	"strings"
	"sync"
)

// ledger says which requests on a subscription connection are still to be answered, and
// how. rueidis 1.0.79 panics over a confirmation that nobody asked for. It sends a PING
// behind each request to unsubscribe, and panics when a server refuses that PING for a
// reason that it does not know: MISCONF, for example, when the disk is full.
type ledger struct {
	mu    sync.Mutex
	open  []request
	resp2 bool
}

// request is one that was sent.
type request struct {
	confirmations int  // to come, of a request to subscribe
	begun         bool // some of them have come
	ending        bool // it is to unsubscribe: a PING follows
	pong          bool // it is that PING
}

// sent takes note of a request before it leaves.
func (l *ledger) sent(name string, arguments int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var r request
	switch name {
	case "HELLO":
		l.resp2 = arguments == 1 // rueidis says more beside the number 3
	case "SUBSCRIBE", "SSUBSCRIBE":
		r.confirmations = arguments
	case "UNSUBSCRIBE", "SUNSUBSCRIBE":
		r.ending = true
	case "PING":
		r.pong = len(l.open) > 0 && l.open[len(l.open)-1].ending
	}
	l.open = append(l.open, r)
}

// came takes note of a value that begins with kind, and whose first text is given. The
// error says why rueidis must not see it.
func (l *ledger) came(kind byte, text string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if kind == '>' || l.resp2 && strings.IndexByte("*~%", kind) >= 0 && text != "pong" {
		return l.pushed(text)
	}
	if len(l.open) == 0 || l.open[0].begun {
		return fmt.Errorf("%w: more replies than requests", errLie)
	}
	refused, pong := kind == '-', isPong(kind, text)
	switch first := l.open[0]; {
	case first.confirmations > 0 && !refused, first.ending && !refused && !pong, first.ending && pong && len(l.open) < 2:
		return fmt.Errorf("%w: %q after a request about subscriptions", errLie, text)
	case first.pong && !pong:
		return fmt.Errorf("a PING was answered by %q", text)
	case first.ending && pong:
		l.open = l.open[2:]
	default:
		l.open = l.open[1:]
	}
	return nil
}

// pushed takes note of a push. Messages are nobody's answer, and neither is the end of a
// subscription, which the server may also decide by itself.
func (l *ledger) pushed(text string) error {
	switch text {
	case "subscribe", "ssubscribe", "psubscribe":
		if len(l.open) == 0 || l.open[0].confirmations == 0 {
			return fmt.Errorf("%w: more confirmations than subscriptions", errLie)
		}
		first := &l.open[0]
		first.begun = true
		if first.confirmations--; first.confirmations == 0 {
			l.open = l.open[1:]
		}
	case "unsubscribe", "sunsubscribe", "punsubscribe":
		if len(l.open) > 0 && l.open[0].begun {
			return fmt.Errorf("%w: the end of a subscription among confirmations", errLie)
		}
	}
	return nil
}

// isPong says whether rueidis takes a reply for the answer to its PING.
func isPong(kind byte, text string) bool {
	known := slices.ContainsFunc([]string{"LOADING", "BUSY"}, func(code string) bool { return strings.HasPrefix(text, code) })
	return kind == '-' && (known || strings.Contains(text, "'ping'")) || kind != '-' && strings.EqualFold(text, "pong")
}
