package script

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redlatch/redlatch/driver"
)

// This file says what the error of a reply means for its request.

// answered says that a request with this error, or with none, need not be repeated.
func answered(err error) bool {
	if err == nil {
		return true
	}
	_, refused := errors.AsType[*driver.ServerError](err)
	return refused && !passing[Code(err)] && !interrupted(err)
}

// answered says that the call need not be repeated. What ends work is repeated until it is done, or its time is over. The
// acquisition of a Multi is not repeated after TRYAGAIN: its slot is migrating, and its caller takes the members one by one.
func (c Call) answered(err error) bool {
	return answered(err) && !(c.ends && noWrites[Code(err)]) || c.script == multiAcquireScript && Code(err) == "TRYAGAIN"
}

// interrupted says that a script was stopped half-way: it used a key that is not there, and that
// may be on another server of the cluster, because its slot is migrating. Every script can be
// run again after any of its lines.
func interrupted(err error) bool {
	refused, ok := errors.AsType[*driver.ServerError](err)
	return ok && strings.Contains(refused.Message, "attempted to access a non local key")
}

// Moving says that a call failed because its slot is open: its keys are on two servers of the cluster.
// That ends with the move, however long it takes.
func Moving(err error) bool {
	return Code(err) == "TRYAGAIN" || interrupted(err)
}

// Code is the first word of an error reply, "" of any other error. Before Redis 7, an error that ended a script
// stands behind the script's name and line.
func Code(err error) string {
	refused, ok := errors.AsType[*driver.ServerError](err)
	if !ok {
		return ""
	}
	if _, inner, ok := strings.Cut(refused.Message, ": -"); ok && strings.HasPrefix(refused.Message, "ERR Error running script") {
		word, _, _ := strings.Cut(inner, " ")
		return word
	}
	return refused.Code()
}

// Forbidden says that the server's ACL forbids a call, or what its script does: Redis 7.0 and 8.2 have texts for that.
func Forbidden(err error) bool {
	refused, ok := errors.AsType[*driver.ServerError](err)
	return ok && (refused.Code() == "NOPERM" || strings.Contains(refused.Message, "The user executing the script can't") ||
		strings.Contains(refused.Message, "ACL failure in script"))
}

// passing are the error replies after which the same request may succeed: the script is not
// loaded yet, the server starts or fails over, or another client's script blocks it. The request
// was not carried out.
var passing = map[string]bool{
	"NOSCRIPT":    true,
	"LOADING":     true,
	"READONLY":    true,
	"BUSY":        true,
	"MASTERDOWN":  true,
	"CLUSTERDOWN": true,
	"TRYAGAIN":    true,
}

// noWrites are the error replies of a server that takes no writes until somebody mends that: its disk or its memory
// is full, or its replicas are gone. What begins work fails. The request was not carried out.
var noWrites = map[string]bool{"MISCONF": true, "NOREPLICAS": true, "OOM": true}

// mayHaveRun says that a request with this error, or with none, may have been carried out.
func mayHaveRun(err error) bool {
	if _, refused := errors.AsType[*driver.ServerError](err); refused {
		return interrupted(err)
	}
	return !errors.Is(err, driver.ErrNotSent)
}

// reason says why a call is not answered, from the error of the last request and the reason so
// far. A time-out says less than the error before it, and nothing if the request never left.
// NOSCRIPT is never the reason.
func reason(before, err error) error {
	switch {
	case before == nil || !cutOff(err) || unloaded(before):
		return err
	case cutOff(before) || errors.Is(err, driver.ErrNotSent):
		return before
	}
	return fmt.Errorf("%w, and before that: %w", err, before)
}

func cutOff(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// unloaded says that the server did not have the script.
func unloaded(err error) bool { return Code(err) == "NOSCRIPT" }
