package driver

import (
	"errors"
	"fmt"
	"strings"
)

// ErrNotSent is matched by errors of commands that certainly never left this
// process, so that nothing can have happened on the server.
var ErrNotSent = errors.New("not sent")

// ErrNoConnection is matched, beside ErrNotSent, by errors of commands that were not
// sent because the server cannot be reached, and not only because time ran out.
var ErrNoConnection = errors.New("without a connection")

// OptionError is the error of Open if one of the options cannot work. Nothing was
// connected to. It is also the reason in later errors if an option is a function that panics or
// returns nil: then there is no connection.
type OptionError struct {
	Option string // the field's name, such as "CommandTimeout"
	Reason string
}

// Error names the option and the reason.
func (e *OptionError) Error() string { return fmt.Sprintf("driver option %s: %s", e.Option, e.Reason) }

// ServerError is an error reply: the server received the command and refused it.
type ServerError struct {
	// Message is the reply's text, as the server sent it.
	Message string
}

// Code returns the first word of the reply, such as NOSCRIPT or WRONGTYPE.
func (e *ServerError) Code() string {
	code, _, _ := strings.Cut(e.Message, " ")
	return code
}

// Error returns the server's text, without the place in a script where it arose.
func (e *ServerError) Error() string { return withoutScript(e.Message) }

// withoutScript is an error reply without the digest and the line of the script that a
// server adds to it. They say nothing to a caller who takes a lock.
func withoutScript(message string) string {
	// Since Redis 7: "READONLY … script: <digest>, on @user_script:7."
	if reason, where, ok := strings.Cut(message, " script: "); ok && strings.Contains(where, "@user_script") {
		return reason
	}
	// Before: "ERR Error running script (call to f_<digest>): @user_script:7: @user_script: 7: -READONLY …"
	if strings.HasPrefix(message, "ERR Error running script") {
		if _, reason, ok := strings.Cut(message, ": -"); ok {
			return reason
		}
	}
	return message
}
