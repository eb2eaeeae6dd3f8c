package main

import (
	"context"
	"crypto/tls"
	"net"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
)

// rueidislockContestant has the settings of its documentation for one server of
// version 7.0.5 or later.
type rueidislockContestant struct {
	locker rueidislock.Locker
}

func openRueidislock(ctx context.Context, address string, wire *wire) (contestant, error) {
	locker, err := rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption: rueidis.ClientOption{
			InitAddress: []string{address},
			DialCtxFn: func(context.Context, string, *net.Dialer, *tls.Config) (net.Conn, error) {
				return wire.Dial(ctx, address)
			},
		},
		KeyMajority:    1,
		NoLoopTracking: true,
	})
	if err != nil {
		return nil, err
	}
	return &rueidislockContestant{locker}, nil
}

// Worker returns a worker for name.
func (c *rueidislockContestant) Worker(name string) worker {
	return &rueidislockWorker{locker: c.locker, name: name}
}

// Close ends the locker and its connection.
func (c *rueidislockContestant) Close() { c.locker.Close() }

type rueidislockWorker struct {
	locker rueidislock.Locker
	name   string
	cancel context.CancelFunc
}

// Lock waits for the lock.
func (w *rueidislockWorker) Lock(ctx context.Context) (err error) {
	_, w.cancel, err = w.locker.WithContext(ctx, w.name)
	return err
}

// Unlock gives it back; cancel returns when the server has answered.
func (w *rueidislockWorker) Unlock(context.Context) error {
	w.cancel()
	return nil
}
