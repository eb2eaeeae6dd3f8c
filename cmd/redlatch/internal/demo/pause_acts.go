package demo

import (
	"context"
	"fmt"
	"time"
)

// patience bounds the start of the processes, and the time until the watchdog is known.
const patience = 15 * time.Second

// prepare starts everybody, and waits until the story can begin: both locks are held, both
// rivals wait, and the protected holder knows of the watchdog.
func (s *pauseShow) prepare(ctx context.Context) error {
	if err := s.cast.watch(s.stage.url); err != nil {
		return err
	}
	for _, h := range s.halves {
		if err := s.cast.add(h.holder, s.part(h, true)); err != nil {
			return err
		}
	}
	if err := s.await(ctx, "hold their locks, one with the protection of the watchdog", func() bool {
		return s.halves[0].holder.state == isHolding && s.halves[1].holder.state == isHolding && s.halves[1].holder.watchdogs > 0
	}); err != nil {
		return err
	}
	for _, h := range s.halves {
		if err := s.cast.add(h.rival, s.part(h, false)); err != nil {
			return err
		}
	}
	return s.await(ctx, "wait", func() bool {
		return s.halves[0].rival.state == isWaiting && s.halves[1].rival.state == isWaiting
	})
}

func (s *pauseShow) part(h *half, holder bool) part {
	return part{URL: s.stage.url, Lock: h.lock.Name(), Lease: s.settings.Lease, Protect: h.protected && holder}
}

// await listens to the processes until something is so.
func (s *pauseShow) await(ctx context.Context, what string, cond func() bool) error {
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for !cond() {
		select {
		case <-ctx.Done():
			return nil
		case c := <-s.cast.cues:
			if err := c.take(); err != nil {
				return err
			}
		case <-limit.C:
			return fmt.Errorf("not within %v: the processes %s", patience, what)
		}
	}
	return nil
}

// hear takes what a process says while the story runs.
func (s *pauseShow) hear(c cue) error {
	if err := c.take(); err != nil {
		return err
	}
	for _, h := range s.halves {
		for _, told := range h.heard(c, time.Since(s.began)) {
			s.note(told.mood, "%s: %s", h.title, told.text)
		}
	}
	return nil
}

// stop stops both holders.
func (s *pauseShow) stop() error {
	for _, h := range s.halves {
		if err := h.holder.stop(); err != nil {
			return fmt.Errorf("stop the holder: %w", err)
		}
		h.stopped = time.Since(s.began)
	}
	s.note(bold, "SIGSTOP to both holders, pid %d and %d", s.halves[0].holder.pid(), s.halves[1].holder.pid())
	return nil
}

// resume lets them go on.
func (s *pauseShow) resume() error {
	s.note(bold, "SIGCONT to both")
	for _, h := range s.halves {
		h.resumed = time.Since(s.began)
		if err := h.holder.resume(); err != nil {
			return fmt.Errorf("continue the holder: %w", err)
		}
	}
	return nil
}

// release asks the holders to give back what they have.
func (s *pauseShow) release() error {
	for _, h := range s.halves {
		h.released = time.Since(s.began)
		h.holder.dismiss()
	}
	return nil
}
