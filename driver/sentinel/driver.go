package sentinel

import (
	"context"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/rueidis"
)

var _ driver.Driver = (*Driver)(nil)

// Driver is the connection to the primary, whichever server that is at the time.
type Driver struct {
	*rueidis.Driver
	council *council
	stop    context.CancelFunc // of the watch
	watched chan struct{}      // closed when it has ended
}

// Open asks the sentinels for the primary, connects to it, logs in and waits for the
// answer to a PING. It ends with ctx, or when the command timeout has passed. The error
// names the sentinels and the master; where a server refuses, it wraps a
// *driver.ServerError. Nothing is left behind by an Open that failed.
func Open(ctx context.Context, options Options) (driver.Driver, error) {
	options, err := options.complete()
	if err != nil {
		return nil, err
	}
	c := &council{options: options, members: make(map[string]*member)}
	node := options.Node
	node.Address, node.Resolve, node.Primary = options.String(), c.find, true
	connection, err := rueidis.Open(ctx, node)
	if err != nil {
		c.close()
		return nil, err
	}
	c.serve(connection)
	d := &Driver{Driver: connection, council: c, watched: make(chan struct{})}
	watching, stop := context.WithCancel(context.Background())
	d.stop = stop
	go func() {
		defer close(d.watched)
		c.watch(watching)
	}()
	return d, nil
}

// Close ends the connections, those to the sentinels as well, and waits for the driver's
// goroutines. Calls under way, and calls made afterwards, fail.
func (d *Driver) Close() {
	d.stop()
	<-d.watched
	d.Driver.Close()
	d.council.close()
}
