package inspect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/script"
)

// layout is where the keys are at one moment: on which servers, and what shows later whether they moved.
type layout struct {
	servers []driver.Server
	states  []state // of each server
}

// state is what one server says of itself.
type state struct {
	process string // Redis has another one after a restart; "" if it does not say
	slots   string // of a Cluster: its config epoch and slots, with those that are migrating; "" if it does not say
	failed  bool   // it did not answer
}

// layoutOf asks servers for their states. It returns the error of ctx.
func (i *Inspector) layoutOf(ctx context.Context, servers []driver.Server) (layout, error) {
	l := layout{servers: servers, states: make([]state, len(servers))}
	if _, embedded := i.driver.(driver.Embedded); embedded {
		return l, nil
	}
	commands := []driver.Command{{Words: []string{"INFO", "server"}}}
	if _, several := i.driver.(driver.Fleet); several {
		commands = append(commands, driver.Command{Words: []string{"CLUSTER", "NODES"}})
	}
	answers := i.askAll(ctx, servers, commands...)
	if answers == nil {
		return l, ctx.Err()
	}
	for n, replies := range answers {
		l.states[n] = i.stateOf(replies)
	}
	return l, nil
}

func (i *Inspector) stateOf(replies []driver.Reply) (s state) {
	for n, r := range replies {
		switch denied, _ := forbidden(r.Err); {
		case r.Err != nil && !denied && script.Code(r.Err) != "ERR":
			s.failed = true
		case r.Err != nil && n == 0:
			i.notices.unread(r.Err, "+info", "Whether a server is restarted during a walk is")
		case r.Err != nil:
			i.notices.unread(r.Err, "+cluster|nodes", "Whether slots move during a walk is")
		case n == 0:
			s.process = script.ReadInfo(r.Str)["run_id"]
		default:
			s.slots = slotsOf(r.Str)
		}
	}
	return s
}

// slotsOf are the server's own config epoch and slots in a reply of CLUSTER NODES, whose lines are: id,
// address, flags, master, ping, pong, config epoch, link, slots.
func slotsOf(text string) string {
	for line := range strings.Lines(text) {
		if words := strings.Fields(line); len(words) >= 8 && strings.HasPrefix(words[2], "myself") {
			return strings.Join(append([]string{words[6]}, words[8:]...), " ")
		}
	}
	return ""
}

// moved says that keys may have moved between two moments.
func (l layout) moved(before layout) bool {
	failed := func(s state) bool { return s.failed }
	return slices.ContainsFunc(l.states, failed) || !slices.Equal(l.states, before.states)
}

// migrating says that a slot is migrating: some of its keys are on another server. It may stay so for long.
func (l layout) migrating() bool {
	return slices.ContainsFunc(l.states, func(s state) bool { return strings.Contains(s.slots, "[") })
}

// unserved is how many slots of a Cluster no server has; 0 if a server does not say which it has.
func (l layout) unserved() int {
	n := driver.Slots
	for _, s := range l.states {
		if s.slots == "" {
			return 0
		}
		for _, span := range strings.Fields(s.slots)[1:] {
			first, last, several := strings.Cut(span, "-")
			from, err := strconv.Atoi(first)
			to := from
			if several {
				to, _ = strconv.Atoi(last)
			}
			if err == nil { // otherwise it marks a slot that is migrating
				n -= to - from + 1
			}
		}
	}
	return max(n, 0)
}

// errMoved is the error of a walk that may have missed keys.
var errMoved = errors.New("inspect: servers were restarted or replaced, or slots moved, during the walk: locks may be missing. Try again")

// err says what is missing if the walk began at one layout and has ended at another.
func (l layout) err(before layout) error {
	if l.moved(before) {
		return errMoved
	}
	if n := l.unserved(); n > 0 {
		return fmt.Errorf("inspect: %d of the Cluster's %d slots have no server: the locks there are missing", n, driver.Slots)
	}
	return nil
}
