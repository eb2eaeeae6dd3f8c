package inspect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/guest"
	"github.com/redlatch/redlatch/internal/script"
)

// RightError means that the user lacks a right. Right is written as in an ACL of Redis, such as "+scan".
type RightError struct {
	Right string
	Err   error // the server's
}

// Error names the right.
func (e *RightError) Error() string {
	return fmt.Sprintf("this user lacks the right %s: %v", e.Right, e.Err)
}

// Unwrap returns the server's error.
func (e *RightError) Unwrap() error { return e.Err }

// forbidden says that the user may not send a command, or may not use a key.
func forbidden(err error) (command, key bool) {
	if !script.Forbidden(err) {
		return false, false
	}
	text := err.Error()
	key = strings.Contains(text, "key") && !strings.Contains(text, "command or subcommand") && !strings.Contains(text, "permissions to run the")
	return !key, key
}

// right is err, which names the right if the user lacks it.
func right(usual string, err error) error {
	if command, _ := forbidden(err); command {
		return &RightError{missingRight(err, usual), err}
	}
	return err
}

// missingRight is the right that a refusal is about. Redis puts the command in quotes, but not for one
// within a script.
func missingRight(err error, usual string) string {
	if _, rest, ok := strings.Cut(err.Error(), "the '"); ok {
		if name, _, ok := strings.Cut(rest, "'"); ok {
			return "+" + name
		}
	}
	return usual
}

// refusals are the commands that a server has refused to this user: by their name, and by their first two words if
// it was the subcommand or the key that was refused.
type refusals struct {
	mu  sync.Mutex
	all map[string]error
}

const maxRefusals = 1000

func firstWords(c driver.Command) string { return strings.Join(c.Words[:min(2, len(c.Words))], " ") }

func (r *refusals) of(c driver.Command) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.all[c.Words[0]]; err != nil {
		return err
	}
	return r.all[firstWords(c)]
}

func (r *refusals) note(c driver.Command, err error) {
	command, key := forbidden(err)
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case len(r.all) == maxRefusals:
	case key || command && strings.Contains(missingRight(err, ""), "|"):
		r.all[firstWords(c)] = err
	case command:
		r.all[c.Words[0]] = err
	}
}

// send sends commands. One that was refused before is not sent again: each refusal is a line of the server's ACL LOG.
func (i *Inspector) send(ctx context.Context, pipeline func(context.Context, ...driver.Command) []driver.Reply, commands []driver.Command) []driver.Reply {
	replies := make([]driver.Reply, len(commands))
	var rest []driver.Command
	var places []int
	for n, c := range commands {
		if replies[n].Err = i.refusals.of(c); replies[n].Err == nil {
			rest, places = append(rest, c), append(places, n)
		}
	}
	if len(rest) == 0 {
		return replies
	}
	for n, r := range guest.Counted(ctx, pipeline, rest) {
		replies[places[n]] = r
		i.refusals.note(rest[n], r.Err)
	}
	return replies
}

// notices are sentences about what could not be read, each once.
type notices struct {
	mu  sync.Mutex
	all []string
}

func (n *notices) add(text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !slices.Contains(n.all, text) {
		n.all = append(n.all, text)
	}
}

func (n *notices) list() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.all)
}

// unread notes that a command was refused, or is not known, and what is unknown therefore. Any other
// error, such as that of a network, is none of it.
func (n *notices) unread(err error, name, what string) {
	if _, refused := errors.AsType[*driver.ServerError](err); !refused || errors.Is(err, driver.ErrNotSent) {
		return
	}
	if command, _ := forbidden(err); command {
		n.add(what + " unknown: this user lacks the right " + missingRight(err, name))
	} else {
		n.add(what + " unknown: the server refuses " + strings.TrimPrefix(name, "+") + ": " + firstLine(err))
	}
}

func firstLine(err error) string {
	text, _, _ := strings.Cut(err.Error(), "\n")
	return text[:min(len(text), 200)]
}
