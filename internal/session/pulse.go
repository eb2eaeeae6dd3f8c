package session

import (
	"errors"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/protocol"
)

const (
	firstPause = 10 * time.Millisecond
	lastPause  = time.Second
)

// pulse keeps the connection that dies with the process, and opens it again when it
// breaks, until the session ends.
func (s *Session) pulse() {
	pause, said := firstPause, false
	for s.ctx.Err() == nil {
		err := s.live()
		if s.pulsing.Swap(false) {
			pause, said = firstPause, false
		}
		if s.ctx.Err() == nil && !said {
			s.settings.Logger.Warn("redlatch: without protection: no pulse", "client", s.settings.Client, "error", err)
			said = true
		}
		s.rest(pause)
		pause = min(2*pause, lastPause)
	}
}

var errGone = errors.New("its connection is gone")

// live has a pulse for as long as one connection lasts.
func (s *Session) live() error {
	listener, err := s.settings.Listen(s.ctx, driver.Events{Subscribed: func(string) {
		s.pulsing.Store(true)
		s.acknowledge()
	}})
	if err != nil {
		return err
	}
	defer listener.Close()
	if err := listener.Subscribe(s.ctx, protocol.PulseChannel(s.settings.Client)); err != nil {
		return err
	}
	select {
	case <-listener.Done():
		return errGone
	case <-s.ctx.Done():
		return nil
	}
}

// rest waits for d, or until the session ends.
func (s *Session) rest(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.ctx.Done():
	}
}
