package inspect

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/redlatch/redlatch/driver"
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

// codeOf is the first word of a server's error, "" of any other.
func codeOf(err error) string {
	if refused, ok := errors.AsType[*driver.ServerError](err); ok {
		return refused.Code()
	}
	return ""
}

// forbidden says that the user may not send a command, or may not use a key.
func forbidden(err error) (command, key bool) {
	refused, ok := errors.AsType[*driver.ServerError](err)
	if !ok {
		return false, false
	}
	text := refused.Message
	inScript := strings.Contains(text, "The user executing the script can't") || strings.Contains(text, "ACL failure in script") // Redis 7.0, 8.2
	if refused.Code() != "NOPERM" && !inScript {
		return false, false
	}
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

// unread notes that a command was refused, or is not known, and what is unknown therefore. It reports
// false for any other error, such as that of a network.
func (n *notices) unread(err error, name, what string) bool {
	if _, refused := errors.AsType[*driver.ServerError](err); !refused || errors.Is(err, driver.ErrNotSent) {
		return false
	}
	if command, _ := forbidden(err); command {
		n.add(what + " unknown: this user lacks the right " + missingRight(err, name))
	} else {
		n.add(what + " unknown: the server refuses " + strings.TrimPrefix(name, "+") + ": " + firstLine(err))
	}
	return true
}

func firstLine(err error) string {
	text, _, _ := strings.Cut(err.Error(), "\n")
	return text[:min(len(text), 200)]
}
