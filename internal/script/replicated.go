package script

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/redlatch/redlatch/driver"
)

// RunReplicated sends a call that writes, and waits on the same connection until so many
// replicas have what it wrote, or the timeout has passed. It returns how many have. Like
// Run it repeats what is not answered, for at most the bound of the runner beyond the
// timeout, and no longer than ctx.
func (r *Runner) RunReplicated(ctx context.Context, call Call, replicas int, timeout time.Duration) (Result, int, error) {
	bound := time.Now().Add(r.bound + timeout)
	limited, cancel := context.WithDeadline(ctx, bound)
	defer cancel()
	wait := driver.Command{Words: []string{"WAIT", strconv.Itoa(replicas), millis(timeout)}, Key: call.command.Key}
	pause := firstPause
	for {
		asked := time.Now()
		replies := r.driver.Apart(limited, call.command, wait)
		had, err := replies[1].Int, replies[1].Err
		if answered(replies[0].Err) && err == nil {
			return Result{Reply: replies[0], Asked: asked}, int(had), nil
		}
		if replies[0].Err != nil {
			err = replies[0].Err
		}
		if isCode(err, "NOSCRIPT") {
			call.command = call.withSource()
			continue
		}
		var refused *driver.ServerError
		if errors.As(err, &refused) && answered(err) {
			return Result{}, 0, err // WAIT is refused, by whoever does not know it
		}
		if rest(ctx, pause, bound) != nil {
			return Result{}, 0, err
		}
		pause = min(2*pause, lastPause)
	}
}
