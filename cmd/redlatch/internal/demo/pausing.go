package demo

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/redlatch/redlatch/watchdog"
)

// pausing is the story of two locks, each with a holder and a rival, told side by side:
// both holders are stopped in the same moment, and a watchdog renews for one of them.
type pausing struct {
	*stage
	halves [2]*half // without the watchdog, and with it
}

// Moments of the story, in leases. Both holders are stopped from stopAfter to resumeAfter,
// and run on until releaseAfter.
const (
	stopAfter    = 1.0
	resumeAfter  = 5.0
	releaseAfter = 6.25
	endAfter     = 7.0
)

// leases is a moment of the story, counted from its start.
func (s Settings) leases(n float64) time.Duration { return time.Duration(n * float64(s.Lease)) }

func newPausing(s *stage) *pausing {
	p := &pausing{stage: s}
	for i, title := range []string{"without a watchdog", "with a watchdog"} {
		p.halves[i] = newHalf(title, i == 1, s.settings.Lease)
		p.halves[i].lock = s.newLock(false)
	}
	return p
}

// startWithin bounds the start of the processes, and the time until the watchdog is known.
const startWithin = 15 * time.Second

// begin starts everybody. In each half, whoever enters is the holder, and the other one
// is the rival. It waits until both locks are held, both rivals wait, and the protected
// holder knows of the watchdog.
func (p *pausing) begin(ctx context.Context) error {
	w, err := watchdog.New(p.client.Driver(), watchdog.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	p.helpers.Go(func() { _ = w.Run(ctx) }) // this process is nobody's holder
	for i := range 4 {
		h := p.halves[i%2]
		started, err := p.start("process "+h.title, task{Lock: h.lock.Name(), Protect: h.protected})
		if err != nil {
			return err
		}
		h.rival, h.holder = started, h.rival
	}
	limit := time.NewTimer(startWithin)
	defer limit.Stop()
	for !p.halves[0].ready() || !p.halves[1].ready() {
		select {
		case <-ctx.Done():
			return nil
		case e := <-p.processes.events:
			if err := p.stage.hear(p, e); err != nil {
				return err
			}
		case <-limit.C:
			return fmt.Errorf("not within %v: each lock has a holder, and a rival that waits for it", startWithin)
		}
	}
	at := p.settings.leases
	p.began, p.length = p.now, at(endAfter)
	p.steps = []step{{at(stopAfter), p.stop}, {at(resumeAfter), p.resume}, {at(releaseAfter), p.release}}
	p.note(neutral, "each lock has a holder, and a rival that waits for it")
	return nil
}

func (p *pausing) hear(from *process, e event) error {
	for _, h := range p.halves {
		if from != h.holder && from != h.rival {
			continue
		}
		if m, text := h.hear(from, e, p.elapsed()); text != "" {
			p.note(m, "%s: %s", h.title, text)
		}
	}
	return nil
}

func (p *pausing) look(ctx context.Context) error {
	for _, h := range p.halves {
		if renewed, from := h.look(ctx, p.elapsed(), p.length); renewed && h.renewals == 1 {
			p.note(good, "%s: it renews for the holder, TTL %s -> %s, and so on", h.title, seconds(from), seconds(h.gauge.last.ttl))
		}
	}
	p.narrator.draw(p.frame)
	return nil
}

// both does something with both holders.
func (p *pausing) both(do func(h *half) error) error {
	return errors.Join(do(p.halves[0]), do(p.halves[1]))
}

func (p *pausing) stop() error {
	err := p.both(func(h *half) error {
		h.stopped = p.elapsed()
		return h.holder.stop()
	})
	p.note(bold, "SIGSTOP to both holders, pid %d and %d", p.halves[0].holder.pid(), p.halves[1].holder.pid())
	return err
}

func (p *pausing) resume() error {
	p.note(bold, "SIGCONT to both")
	return p.both(func(h *half) error {
		h.resumed = p.elapsed()
		return h.holder.resume()
	})
}

// release asks the holders to give back what they have.
func (p *pausing) release() error {
	return p.both(func(h *half) error {
		h.released = p.elapsed()
		h.holder.dismiss()
		return nil
	})
}

func (p *pausing) conclude(interrupted, failed bool) bool {
	if interrupted || failed {
		return true // what was not shown to the end says nothing about the locks
	}
	p.narrator.draw(p.frame)
	if !p.narrator.draws() {
		p.narrator.print(append([]line{nil}, p.frame(0)...)...)
	}
	return p.halves[0].broken() == "" && p.halves[1].broken() == ""
}
