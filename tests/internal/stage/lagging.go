package stage

import (
	"context"
	"strconv"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/pause"
)

// Lagging is a driver of a server with one replica, which has what the server has after a lag. It takes the last of the
// commands on a dedicated connection for the WAIT.
type Lagging struct {
	driver.Driver
	Lag time.Duration
}

func (d Lagging) DedicatedPipeline(ctx context.Context, commands ...driver.Command) []driver.Reply {
	last := len(commands) - 1
	replies := d.Driver.Pipeline(ctx, commands[:last]...)
	patience, _ := strconv.Atoi(commands[last].Words[2])
	most := time.Duration(patience) * time.Millisecond
	var had driver.Reply
	if d.Lag <= most {
		had.Int = 1
	}
	if had.Err = pause.For(ctx, min(d.Lag, most)); had.Err != nil {
		had.Int = 0
	}
	return append(replies, had)
}
