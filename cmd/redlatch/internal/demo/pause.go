package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/redlatch/redlatch"
)

// PauseSettings are what the user can choose of the story of a pause.
type PauseSettings struct {
	Lease time.Duration
	Redis string // URL of a server; empty runs one inside the parent
}

// The story in leases: both holders are stopped after the first one, for four, and go on
// for one and a half before they release.
const (
	stopAfter    = 1.0
	resumeAfter  = 5.0
	releaseAfter = 6.25
	endAfter     = 7.0
)

// The limits of the lease: below, the watchdog has too little time, and nothing is to be
// seen; above, nobody looks on for so long.
const (
	minPauseLease = time.Second
	maxPauseLease = 30 * time.Second
)

// Check says which setting is wrong, by the name of its flag.
func (s PauseSettings) Check() error {
	if s.Lease < minPauseLease || s.Lease > maxPauseLease {
		return fmt.Errorf("--lease %v: with --pause from %v to %v", s.Lease, minPauseLease, maxPauseLease)
	}
	return Settings{Lease: s.Lease, Workers: 2, For: minLeases * s.Lease, Redis: s.Redis}.Check()
}

// at is a moment of the story, counted from its start.
func (s PauseSettings) at(leases float64) time.Duration {
	return time.Duration(leases * float64(s.Lease))
}

// Verbs are the hidden and the public verb of this program that RunPause starts it with.
type Verbs struct {
	Actor    string
	Watchdog string
}

// RunPause shows on out what a pause of a holder comes to, without a watchdog and with one,
// side by side: two locks, each with a holder and a rival, and the two holders are stopped
// with SIGSTOP in the same moment. It returns when that is over or ctx has ended; either
// way no process is left behind and nothing is left in Redis.
//
// It reports whether everything went as promised. Errors: *redlatch.ConfigError if the URL
// is no good; others if Redis, a process or out failed.
func RunPause(ctx context.Context, settings PauseSettings, out io.Writer, verbs Verbs) (sound bool, err error) {
	st := &stage{settings: Settings{Lease: settings.Lease}, url: settings.Redis}
	defer st.strike()
	if err := errors.Join(st.serve(ctx)); err != nil {
		return false, err
	}
	client, err := redlatch.Open(ctx, st.url, redlatch.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return false, err
	}
	st.client = client
	s := newPauseShow(settings, st, verbs, newPauseView(out))
	err = s.run(ctx)
	s.cast.end()
	err = errors.Join(err, s.sweep())
	if ctx.Err() == nil && err == nil {
		err = s.view.end(s.picture())
	}
	return s.sound(), err
}

// pauseShow is a run. All of it belongs to the goroutine that called RunPause.
type pauseShow struct {
	settings PauseSettings
	stage    *stage
	view     pauseView
	cast     *cast
	halves   [2]*half // without a watchdog, and with
	began    time.Time
	notes    []note
	acts     []pauseAct
}

// pauseAct is one thing that the parent makes happen.
type pauseAct struct {
	leases float64
	do     func() error
}

func newPauseShow(settings PauseSettings, st *stage, verbs Verbs, v pauseView) *pauseShow {
	s := &pauseShow{settings: settings, stage: st, view: v, cast: newCast(verbs)}
	for i, title := range []string{"without a watchdog", "with a watchdog"} {
		s.halves[i] = newHalf(title, i == 1, settings.Lease, st.client)
	}
	s.acts = []pauseAct{{stopAfter, s.stop}, {resumeAfter, s.resume}, {releaseAfter, s.release}}
	return s
}

// run is the story from the first process to the last release.
func (s *pauseShow) run(ctx context.Context) error {
	if err := s.prepare(ctx); err != nil || ctx.Err() != nil {
		return err
	}
	s.began = time.Now()
	s.note(neutral, "each lock has a holder, and a rival that waits for it")
	ticker := time.NewTicker(pauseTick)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case c := <-s.cast.cues:
			if err := s.hear(c); err != nil {
				return err
			}
		case now := <-ticker.C:
			if over, err := s.turn(ctx, now); over || err != nil {
				return err
			}
		}
	}
}

// pauseTick is how often Redis is asked and the picture drawn.
const pauseTick = 40 * time.Millisecond

// turn does what is due, and draws how things stand.
func (s *pauseShow) turn(ctx context.Context, now time.Time) (over bool, err error) {
	elapsed := now.Sub(s.began)
	for len(s.acts) > 0 && elapsed >= s.settings.at(s.acts[0].leases) {
		if err := s.acts[0].do(); err != nil {
			return false, err
		}
		s.acts = s.acts[1:]
	}
	for _, h := range s.halves {
		if renewed, from := h.look(ctx, elapsed); renewed && h.renewals == 1 {
			s.note(good, "%s: it renews for the holder, TTL %s -> %s, and so on", h.title, seconds(from), seconds(h.ttl))
		}
	}
	return elapsed >= s.settings.at(endAfter), s.view.draw(s.picture())
}

// note tells of something that happened.
func (s *pauseShow) note(m mood, format string, args ...any) {
	n := note{after: time.Since(s.began), mood: m, text: fmt.Sprintf(format, args...)}
	s.notes = append(s.notes, n)
	s.view.note(n)
}

// sweep leaves nothing behind in Redis: a holder that was killed may have left its lock.
func (s *pauseShow) sweep() error {
	var all []error
	for _, h := range s.halves {
		_, err := h.lock.ForceUnlock(context.Background())
		all = append(all, err)
	}
	return errors.Join(all...)
}

// sound says whether both halves went as promised.
func (s *pauseShow) sound() bool {
	return s.halves[0].broken(s.settings) == "" && s.halves[1].broken(s.settings) == ""
}
