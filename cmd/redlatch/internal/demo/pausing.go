package demo

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/redlatch/redlatch/watchdog"
)

// pausing is the scenario of two locks, each with a holder and a rival, shown side by side:
// both holders are stopped in the same moment, and a watchdog renews for one of them.
type pausing struct {
	*runner
	halves [2]*half // without the watchdog, and with it
	told   bool     // that both are ready, from which the time counts
}

func newPausing(r *runner) *pausing {
	return &pausing{runner: r, halves: [2]*half{newHalf(r.newGauge(), false), newHalf(r.newGauge(), true)}}
}

// startWithin bounds the start of the processes, and the time until the watchdog is known.
const startWithin = 15 * time.Second

// begin starts everybody.
func (p *pausing) begin(ctx context.Context) error {
	w, err := watchdog.New(p.client.Driver(), watchdog.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	p.helpers.Go(func() { _ = w.Run(ctx) }) // this process is nobody's holder
	for i := range 4 {
		h := p.halves[i%2]
		started, err := p.start(h.gauge, task{Protect: h.protected, Rest: time.Hour})
		if err != nil {
			return err
		}
		h.rival, h.holder = started, h.rival
	}
	p.length = 2 * startWithin
	p.after(startWithin, func() error {
		if p.told {
			return nil
		}
		return fmt.Errorf("not within %v: each lock has a holder, and a rival that waits for it", startWithin)
	})
	return nil
}

// Moments in leases. Both holders are stopped from stopAfter to resumeAfter, and run on until
// releaseAfter.
const (
	stopAfter    = 1.0
	resumeAfter  = 5.0
	releaseAfter = 6.25
	endAfter     = 7.0
)

func (p *pausing) hear(from *process, e event) error {
	for _, h := range p.halves {
		if from != h.holder && from != h.rival {
			continue
		}
		if text := h.hear(from, e.Kind, p.elapsed()); text != "" {
			p.note(h.colour, "%s: %s", h.title, text)
		}
	}
	if !p.told && p.halves[0].ready() && p.halves[1].ready() {
		at := p.settings.leases
		p.told, p.began, p.length = true, p.now, at(endAfter)
		p.after(at(stopAfter), func() error { return p.both(stopped, (*process).stop) })
		p.after(at(resumeAfter), func() error { return p.both(resumed, (*process).resume) })
		p.after(at(releaseAfter), func() error { return p.both(released, func(p *process) error { p.dismiss(); return nil }) })
		p.note(plain, "each lock has a holder, and a rival that waits for it")
	}
	return nil
}

// both takes a step with both holders.
func (p *pausing) both(step moment, do func(holder *process) error) (err error) {
	p.note(bold, "both holders: %s, pid %d and %d", step, p.halves[0].holder.pid(), p.halves[1].holder.pid())
	for _, h := range p.halves {
		h.take(step, p.elapsed())
		err = errors.Join(err, do(h.holder))
	}
	return err
}

func (p *pausing) look(ctx context.Context) error {
	if !p.told {
		return nil
	}
	for _, h := range p.halves {
		renewed, from := h.ask(ctx)
		if h.look(renewed, p.elapsed(), p.length) && h.renewed == 1 {
			p.note(good, "%s: it renews for the holder, TTL %s -> %s, and so on", h.title, seconds(from), seconds(h.ttl))
		}
	}
	p.screen.draw(p.frame)
	return nil
}

func (p *pausing) conclude(interrupted, failed bool) bool {
	if interrupted || failed {
		return true // what was not shown to the end says nothing about the locks
	}
	p.screen.draw(p.frame)
	if !p.screen.draws() {
		p.screen.print(append([]string{""}, p.frame(0)...)...)
	}
	return p.halves[0].kept() && p.halves[1].kept()
}
