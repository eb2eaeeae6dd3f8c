package inspect

import (
	"context"
	"errors"
	"iter"
	"sync"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/guest"
	"github.com/redlatch/redlatch/internal/pause"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/signal"
)

// Watch is Follow for one lock, whose name may have any characters. It also listens to the messages of the
// lock, and yields a snapshot after each message. Every snapshot has the lock, also while it is free.
func (i *Inspector) Watch(ctx context.Context, name string, every time.Duration) iter.Seq2[Snapshot, error] {
	every = atLeast(every)
	return func(yield func(Snapshot, error) bool) {
		s := newSubscription(i, protocol.LockChannel(name), protocol.RWChannel(name))
		defer s.close()
		var prev []Lock
		for ctx.Err() == nil {
			s.open(ctx)
			l, err := i.Lock(ctx, name)
			snapshot := Snapshot{At: l.Seen, Walked: true, Locks: []Lock{l}}
			switch {
			case ctx.Err() != nil:
				return
			case err != nil:
				snapshot = Snapshot{}
			case prev != nil:
				snapshot.Events = Diff(prev, snapshot.Locks, l.Seen)
			}
			if err == nil {
				prev = snapshot.Locks
			}
			if !yield(snapshot, err) {
				return
			}
			s.wait(ctx, every)
		}
	}
}

// soon is when a lock is read once more after a message: a release is announced, and the acquisition
// behind it is not.
const soon = 50 * time.Millisecond

// subscription hears the messages of one lock.
type subscription struct {
	inspector *Inspector
	channels  []string
	listener  driver.Listener // nil if there is none
	denied    bool            // the user may not subscribe
	heard     chan struct{}   // has capacity one
	again     bool            // the last wait ended by a message
}

func newSubscription(i *Inspector, channels ...string) *subscription {
	return &subscription{inspector: i, channels: channels, heard: make(chan struct{}, 1)}
}

// open subscribes, unless that is done. Without messages a lock is read only as often as the caller
// wants, so an error is no reason to stop.
func (s *subscription) open(ctx context.Context) {
	if s.listener != nil {
		select {
		case <-s.listener.Done():
			s.close()
		default:
			return
		}
	}
	if s.denied || s.inspector.pace.take(ctx, len(s.channels)) != nil {
		return
	}
	limited, cancel := context.WithTimeout(ctx, s.inspector.config.CommandTimeout)
	defer cancel()
	own := &s.inspector.own
	acknowledged := make(chan struct{}, 1)
	l, err := guest.Driver(s.inspector.driver).Listen(limited, driver.Events{
		Message: func(string, string) { signal.Send(s.heard) },
		Subscribed: func(channel string) {
			if own.note(s, channel) == len(s.channels) {
				signal.Send(acknowledged)
			}
		},
	})
	if err == nil {
		s.listener = l
		err = l.Subscribe(limited, s.channels...)
	}
	if err != nil {
		_, s.denied = errors.AsType[*driver.ServerError](err)
		s.inspector.notices.unread(err, "+subscribe, or the lock's channels", "Messages are")
		s.close()
		return
	}
	s.await(ctx, acknowledged)
}

// await waits until all channels are acknowledged, so that the first reading counts no listener too
// many.
func (s *subscription) await(ctx context.Context, acknowledged <-chan struct{}) {
	timer := time.NewTimer(time.Second)
	defer timer.Stop()
	select {
	case <-acknowledged:
	case <-timer.C:
	case <-s.listener.Done():
	case <-ctx.Done():
	}
}

// close ends the subscription.
func (s *subscription) close() {
	if s.listener != nil {
		s.listener.Close()
		s.listener = nil
		s.inspector.own.forget(s)
	}
}

// wait waits for a message, for that long at the most.
func (s *subscription) wait(ctx context.Context, every time.Duration) {
	if pause.For(ctx, shortest) != nil {
		return
	}
	if s.again {
		every = min(every, soon)
	}
	s.again = false
	timer := time.NewTimer(every - shortest)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.heard:
		s.again = true
	case <-ctx.Done():
	}
}

// ownChannels are the channels that an Inspector itself listens to. It does not count itself.
type ownChannels struct {
	mu  sync.Mutex
	all map[*subscription]map[string]bool
}

// note takes note of an acknowledged channel, and returns how many the subscription has.
func (o *ownChannels) note(s *subscription, channel string) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.all == nil {
		o.all = make(map[*subscription]map[string]bool)
	}
	if o.all[s] == nil {
		o.all[s] = make(map[string]bool)
	}
	o.all[s][channel] = true
	return len(o.all[s])
}

func (o *ownChannels) forget(s *subscription) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.all, s)
}

// count is how many of the listeners to a channel are the Inspector's own.
func (o *ownChannels) count(channel string) (n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, channels := range o.all {
		if channels[channel] {
			n++
		}
	}
	return n
}
