package single

import (
	"fmt"
	"slices"
	"strings"
	"sync"
)

// pending are the requests on a subscription connection that the server has still to
// answer. rueidis 1.0.79 panics over a confirmation that nobody asked for. It sends a PING
// behind each request to unsubscribe, and panics when a server refuses that PING for a
// reason that it does not know: MISCONF, for example, when the disk is full.
type pending struct {
	mu       sync.Mutex
	requests []request
	resp2    bool
}

// request is one that was sent.
type request struct {
	confirmations int  // to come, of a request to subscribe
	begun         bool // some of them have come
	ending        bool // it is to unsubscribe: a PING follows
	pong          bool // it is that PING
}

// sent takes note of a request before it leaves.
func (p *pending) sent(name string, arguments int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var r request
	switch name {
	case "HELLO":
		p.resp2 = arguments == 1 // in RESP3, rueidis adds more than the number 3
	case "SUBSCRIBE", "SSUBSCRIBE":
		r.confirmations = arguments
	case "UNSUBSCRIBE", "SUNSUBSCRIBE":
		r.ending = true
	case "PING":
		r.pong = len(p.requests) > 0 && p.requests[len(p.requests)-1].ending
	}
	p.requests = append(p.requests, r)
}

// received takes note of a value that begins with kind, and whose first string is given.
// The error says why rueidis must not see it.
func (p *pending) received(kind byte, text string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if kind == '>' || p.resp2 && strings.IndexByte("*~%", kind) >= 0 && text != "pong" {
		return p.pushed(text)
	}
	if len(p.requests) == 0 || p.requests[0].begun {
		return fmt.Errorf("%w: more replies than requests", errMalformed)
	}
	refused, pong := kind == '-', isPong(kind, text)
	switch first := p.requests[0]; {
	case first.confirmations > 0 && !refused, first.ending && !refused && !pong, first.ending && pong && len(p.requests) < 2:
		return fmt.Errorf("%w: %q after a request about subscriptions", errMalformed, text)
	case first.pong && !pong:
		return fmt.Errorf("a PING was answered by %q", text)
	case first.ending && pong:
		p.requests = p.requests[2:]
	default:
		p.requests = p.requests[1:]
	}
	return nil
}

// pushed takes note of a push. Messages answer no request. The end of a
// subscription does not either, for the server may end one by itself.
func (p *pending) pushed(text string) error {
	switch text {
	case "subscribe", "ssubscribe", "psubscribe":
		if len(p.requests) == 0 || p.requests[0].confirmations == 0 {
			return fmt.Errorf("%w: more confirmations than subscriptions", errMalformed)
		}
		first := &p.requests[0]
		first.begun = true
		if first.confirmations--; first.confirmations == 0 {
			p.requests = p.requests[1:]
		}
	case "unsubscribe", "sunsubscribe", "punsubscribe":
		if len(p.requests) > 0 && p.requests[0].begun {
			return fmt.Errorf("%w: the end of a subscription among confirmations", errMalformed)
		}
	}
	return nil
}

// isPong says whether rueidis takes a reply for the answer to its PING.
func isPong(kind byte, text string) bool {
	known := slices.ContainsFunc([]string{"LOADING", "BUSY"}, func(code string) bool { return strings.HasPrefix(text, code) })
	return kind == '-' && (known || strings.Contains(text, "'ping'")) || kind != '-' && strings.EqualFold(text, "pong")
}
