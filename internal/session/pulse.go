package session

import (
	"errors"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/pause"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/random"
	"github.com/redlatch/redlatch/internal/signal"
)

const (
	firstPause = 10 * time.Millisecond
	lastPause  = time.Second
)

var errGone = errors.New("its connection is gone")

// pulse keeps the connection that dies with the process, and opens it again when it breaks,
// until the session ends. Each connection has a channel with a fresh name, because a server may
// take a broken connection for open for a long time.
func (s *Session) pulse() {
	var current driver.Listener
	for backoff := (pause.Backoff{First: firstPause, Max: lastPause}); s.ctx.Err() == nil; {
		var err error
		current, err = s.openPulse(current)
		broken := current == nil && s.setPulse("", err)
		if broken || err == nil {
			backoff.Reset()
		}
		_ = backoff.Wait(s.ctx)
	}
	if current != nil {
		current.Close()
	}
}

// openPulse opens a pulse, closes the former one when the new one is acknowledged, and returns
// when another is needed. It returns the pulse that is open then, nil if there is none. On a
// cluster a listener subscribes anew by itself when a connection breaks. So a second
// acknowledgement means that the channel needs a fresh name.
func (s *Session) openPulse(former driver.Listener) (open driver.Listener, err error) {
	acknowledged := make(chan struct{}, 2)
	listener, err := s.settings.Listen(s.ctx, driver.Events{Subscribed: func(string) { signal.Send(acknowledged) }})
	if err != nil {
		return former, err
	}
	name := random.Text()
	if err := listener.Subscribe(s.ctx, protocol.PulseChannel(s.settings.Client, name)); err != nil {
		listener.Close()
		return former, err
	}
	for first := true; ; first = false {
		select {
		case <-acknowledged:
		case <-listener.Done():
			listener.Close()
			return former, errGone
		case <-s.ctx.Done():
			listener.Close()
			return former, nil
		}
		if !first {
			return listener, nil
		}
		s.setPulse(name, nil)
		if former != nil {
			former.Close()
			former = nil
		}
	}
}

// setPulse sets the pulse, "" for none, and why there is none. The loop tells Redis. It reports
// whether there was one before.
func (s *Session) setPulse(name string, err error) (was bool) {
	s.mu.Lock()
	was = s.pulseName != ""
	s.pulseName, s.pulseErr = name, err
	s.mu.Unlock()
	signal.Send(s.kick)
	return was
}

// currentPulse is the name of the pulse, or why there is none.
func (s *Session) currentPulse() (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pulseName, s.pulseErr
}
