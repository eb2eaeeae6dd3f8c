package script

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redlatch/redlatch/driver"
)

// What an error of a reply says about the request.

// answered says that err, of a reply, needs no repetition.
func answered(err error) bool {
	if err == nil {
		return true
	}
	refused, ok := errors.AsType[*driver.ServerError](err)
	return ok && !passing[code(refused)] && !interrupted(refused)
}

// interrupted says that a script was ended half-way because a key that it had removed, or
// that was never there, may be on another server of the cluster: its slot is on the move.
// Every script can be run again after any of its lines.
func interrupted(refused *driver.ServerError) bool {
	return strings.Contains(refused.Message, "attempted to access a non local key")
}

// code is the first word of an error reply. Before Redis 7, an error that ended a script
// comes wrapped, behind the script's name and line.
func code(e *driver.ServerError) string {
	if _, inner, ok := strings.Cut(e.Message, ": -"); ok && strings.HasPrefix(e.Message, "ERR Error running script") {
		word, _, _ := strings.Cut(inner, " ")
		return word
	}
	return e.Code()
}

// passing are the error replies after which the same request may succeed: the
// script is not loaded yet, the server starts, fails over, or is held up by
// somebody else's script. None of them has carried the request out.
var passing = map[string]bool{
	"NOSCRIPT":    true,
	"LOADING":     true,
	"READONLY":    true,
	"BUSY":        true,
	"MASTERDOWN":  true,
	"CLUSTERDOWN": true,
	"TRYAGAIN":    true,
}

// mayHaveRun says that a request with this error, or with none, may have been
// carried out.
func mayHaveRun(err error) bool {
	if refused, ok := errors.AsType[*driver.ServerError](err); ok {
		return interrupted(refused)
	}
	return !errors.Is(err, driver.ErrNotSent)
}

// blame is why a call is not answered, by the error of the last request and what was to blame
// before. A request that was cut off knows less than the one before, and nothing if it never
// left. That a script is not loaded yet is to blame for nothing.
func blame(before, err error) error {
	switch {
	case before == nil || !cutOff(err) || isCode(before, "NOSCRIPT"):
		return err
	case cutOff(before) || errors.Is(err, driver.ErrNotSent):
		return before
	}
	return fmt.Errorf("%w, and before that: %w", err, before)
}

func cutOff(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

func isCode(err error, word string) bool {
	refused, ok := errors.AsType[*driver.ServerError](err)
	return ok && code(refused) == word
}
