package stage

import (
	"context"
	"strconv"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/pause"
)

// Lagging is a driver of a server with one replica, which has what the server has after a lag. A command to the server takes
// a trip. It takes the last of the commands on a dedicated connection for the WAIT.
type Lagging struct {
	driver.Driver
	Lag, Trip time.Duration
}

func (d Lagging) Do(ctx context.Context, c driver.Command) driver.Reply {
	time.Sleep(d.Trip)
	return d.Driver.Do(ctx, c)
}

func (d Lagging) Pipeline(ctx context.Context, commands ...driver.Command) []driver.Reply {
	time.Sleep(d.Trip)
	return d.Driver.Pipeline(ctx, commands...)
}

func (d Lagging) DedicatedPipeline(ctx context.Context, commands ...driver.Command) []driver.Reply {
	last := len(commands) - 1
	time.Sleep(d.Trip)
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
