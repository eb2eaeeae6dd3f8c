package driver

import (
	"context"
	"strings"
	"sync"
	"time"
)

// Opener opens the embedded server of a name. An empty name means a server that nobody shares.
// The command timeout bounds each call.
type Opener func(ctx context.Context, name string, commandTimeout time.Duration) (Driver, error)

// openers are the openers by their schemes: a map[string]Opener that is safe for concurrent use.
var openers sync.Map

// Register makes redlatch.Open use open for URLs of the form scheme://name. The package of an
// embedded server calls it in its init, so that programs that do not import the package do not
// contain the server. The scheme is written in lower case. Register panics if it is not, if no URL
// can have it, if redlatch.Open has it itself, if it is registered already, and if open is nil.
func Register(scheme string, open Opener) {
	if open == nil {
		panic("driver: Register of " + scheme + " without a function")
	}
	if scheme == "" || scheme != strings.ToLower(scheme) {
		panic("driver: Register of a scheme that is empty or not in lower case: " + scheme)
	}
	own, _, _ := strings.Cut(scheme, "+")
	if own == "redis" || own == "rediss" || strings.ContainsAny(scheme, ":/@") {
		panic("driver: Register of a scheme that is redlatch's own, or that no URL can have: " + scheme)
	}
	if _, twice := openers.LoadOrStore(scheme, open); twice {
		panic("driver: Register called twice for " + scheme)
	}
}

// Registered returns what was registered for a scheme, or nil.
func Registered(scheme string) Opener {
	open, _ := openers.Load(scheme)
	opener, _ := open.(Opener)
	return opener
}
