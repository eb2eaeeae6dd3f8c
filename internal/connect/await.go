package connect

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/lockerr"
	"github.com/redlatch/redlatch/internal/pause"
)

// The pauses between attempts to connect double from the first to the last.
const (
	firstPause = 50 * time.Millisecond
	lastPause  = time.Second
)

// Await is Open, again and again for a time if the server is not there yet. It calls waiting with the
// first failure. A failed attempt leaves nothing behind, so it does no harm to repeat it. If the time is negative, the
// driver is returned after the first failure, and repeats the attempt itself.
func (t Target) Await(ctx context.Context, settings Settings, within time.Duration, waiting func(error)) (driver.Driver, error) {
	if within < 0 {
		settings.Tolerate = func(err error) bool {
			passes := !Permanent(err)
			if passes {
				waiting(t.withAdvice(err))
			}
			return passes
		}
	}
	began, told := time.Now(), false
	d, err := t.Open(ctx, settings)
	for backoff := (pause.Backoff{First: firstPause, Max: lastPause}); err != nil; {
		left := within - time.Since(began)
		if left <= 0 || Permanent(err) || errors.Is(err, ctx.Err()) {
			return nil, err
		}
		if pause.For(ctx, min(backoff.Next(), left)) != nil {
			return nil, fmt.Errorf("%w, and before that: %w", context.Cause(ctx), err)
		}
		if !told {
			waiting(err)
			told = true
		}
		limited, cancel := context.WithDeadline(ctx, began.Add(within))
		var again error
		if d, again = t.Open(limited, settings); again == nil || limited.Err() == nil {
			err = again
		}
		cancel()
	}
	return d, nil
}

// Permanent says that another attempt to connect would fail as well: a setting is wrong, or one side
// does not accept the other.
func Permanent(err error) bool {
	var wrong *lockerr.ConfigError
	var option *driver.OptionError
	var refused *driver.ServerError
	var untrusted *tls.CertificateVerificationError
	var network *net.OpError
	switch {
	case errors.As(err, &wrong), errors.As(err, &option), errors.Is(err, lockerr.ErrUnsupported), errors.As(err, &untrusted):
		return true
	case errors.As(err, &network):
		return network.Op == "remote error" // what crypto/tls calls a refused handshake
	}
	return errors.As(err, &refused) && !slices.Contains(passing, refused.Code()) && !strings.Contains(refused.Message, "max number of clients")
}

// passing are the error replies of a server that starts, fails over or is busy.
var passing = []string{"LOADING", "BUSY", "READONLY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN"}
