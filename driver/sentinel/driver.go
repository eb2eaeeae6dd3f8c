package sentinel

import (
	"context"
	"sync"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/internal/single"
	"github.com/redlatch/redlatch/driver/rueidis"
)

var _ driver.Bounded = (*Driver)(nil)

// Driver is the connection to the primary, whichever server that is at the time. It
// implements driver.Driver and driver.Bounded.
type Driver struct {
	*rueidis.Driver
	sentinels *sentinels
	stop      context.CancelFunc // of the goroutine that follows the sentinels
	following sync.WaitGroup     // that goroutine
}

// Open asks the sentinels for the primary, connects to it, logs in and waits for the
// answer to a PING. It blocks until then, until ctx ends, or until the command timeout has
// passed.
//
// The error is a *driver.OptionError if an option cannot work. It wraps a
// *driver.ServerError if a server or a sentinel refused, and otherwise the error of the
// network, of ctx, or of Credentials. It names the sentinels and the master. An Open that
// failed leaves nothing behind.
func Open(ctx context.Context, options Options) (*Driver, error) {
	options, err := options.complete()
	if err != nil {
		return nil, err
	}
	s := &sentinels{options: options, conns: make(map[string]*conn)}
	primary, err := single.OpenPrimary(ctx, options.Node, s.find)
	if err != nil {
		s.close()
		return nil, err
	}
	s.serve(primary)
	following, stop := context.WithCancel(context.Background())
	d := &Driver{Driver: primary, sentinels: s, stop: stop}
	d.following.Go(func() { s.followEach(following) })
	return d, nil
}

// Close ends the connections, those to the sentinels as well, and waits for the driver's
// goroutines. Calls under way, and calls made afterwards, fail.
func (d *Driver) Close() {
	d.stop()
	d.following.Wait()
	d.Driver.Close()
	d.sentinels.close()
}
