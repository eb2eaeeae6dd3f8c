package demo

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver/memory"
)

// story is one of the two that can be shown.
type story interface {
	// begin starts its actors, and says what happens when.
	begin(ctx context.Context) error
	// hear takes what an actor says.
	hear(p *process, e event) error
	// look asks Redis how things stand, and shows it.
	look(ctx context.Context) error
	// conclude ends the story when no actor is left, and says whether the lock kept its
	// promises.
	conclude(interrupted, failed bool) (sound bool)
}

// stage is what both stories need: a server, actors, a narrator and a clock.
type stage struct {
	settings  Settings
	narrator  *narrator
	processes *processes
	url       string // for the actors
	address   string // for people, without the password
	client    *redlatch.Client
	locks     []lock // that nobody else uses
	counter   counter

	began, now time.Time // now is when the parent last woke up
	noted      time.Time // when something was noted last
	length     time.Duration
	steps      []step
	over       bool           // the actors are leaving
	helpers    sync.WaitGroup // that work until the story ends
}

// step is one thing that the parent makes happen, at a time since the start.
type step struct {
	at time.Duration
	do func() error
}

// Run shows a story on out. It returns when the story is over or ctx has ended. Either
// way it leaves no process, no file and nothing in Redis. Verb is the hidden verb of
// this program that runs Act.
//
// It reports whether the lock kept its promises, as far as the story went. Errors:
// *redlatch.ConfigError if the URL is invalid; others if Redis, an actor or out failed.
func Run(ctx context.Context, settings Settings, out io.Writer, verb string) (sound bool, err error) {
	now := time.Now()
	s := &stage{settings: settings, url: settings.Redis, began: now, now: now}
	if s.url == "" {
		server, err := memory.Serve("127.0.0.1:0")
		if err != nil {
			return true, err
		}
		defer server.Close()
		s.url = "redis://" + server.Addr()
		s.address = s.url + " (embedded)"
	} else if u, err := url.Parse(s.url); err == nil {
		s.address = u.Scheme + "://" + u.Host
	}
	s.client, err = redlatch.Open(ctx, s.url, redlatch.Config{LeaseTime: settings.Lease, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return true, err
	}
	defer s.client.Close(context.Background())
	program, err := os.Executable()
	if err != nil {
		return true, fmt.Errorf("find this program to start it again: %w", err)
	}
	if s.processes, err = newProcesses(program, verb); err != nil {
		return true, err
	}
	defer s.processes.stdout.Close()
	file, err := os.CreateTemp("", "redlatch-demo-")
	if err != nil {
		return true, err
	}
	defer os.Remove(file.Name())
	defer file.Close()
	s.counter = counter{file}
	if settings.Pause {
		s.narrator = newNarrator(out, pauseHeight)
		return s.run(ctx, newPausing(s))
	}
	s.narrator = newNarrator(out, minHeight)
	return s.run(ctx, newCounting(s))
}

// run shows a story, and ends it whatever has come of it.
func (s *stage) run(ctx context.Context, told story) (sound bool, err error) {
	playing, stop := context.WithCancel(ctx)
	err = s.play(playing, told)
	s.over = true
	err = errors.Join(err, s.processes.end(func(e event) error { return s.hear(told, e) }), s.sweep())
	stop()
	s.helpers.Wait()
	s.now = time.Now()
	interrupted := ctx.Err() != nil
	sound = told.conclude(interrupted, err != nil || s.narrator.err != nil)
	if interrupted { // whoever looked on may have gone
		return sound, err
	}
	return sound, errors.Join(err, s.narrator.err)
}

// start starts an actor for a lock.
func (s *stage) start(name string, t task) (*process, error) {
	t.URL, t.Lease, t.Counter = s.url, s.settings.Lease, s.counter.Name()
	return s.processes.start(name, t)
}

// newLock is a lock with a name of its own.
func (s *stage) newLock(fair bool) lock {
	name := "redlatch:demo:" + strings.ToLower(rand.Text()[:8])
	var l lock = s.client.Mutex(name)
	if fair {
		l = s.client.FairMutex(name)
	}
	s.locks = append(s.locks, l)
	return l
}

// sweep frees the locks where an actor that was killed has left one behind.
func (s *stage) sweep() error {
	for _, l := range s.locks {
		if _, err := l.ForceUnlock(context.Background()); err != nil {
			return fmt.Errorf("clean up: %w", err)
		}
	}
	return nil
}

// maxTick is the longest time between two looks at Redis.
const maxTick = 50 * time.Millisecond

// play reacts to what happens until the time is over.
func (s *stage) play(ctx context.Context, told story) error {
	if err := told.begin(ctx); err != nil {
		return dismissed(ctx, err)
	}
	// Short against the renewal interval, so that no jump of the TTL is missed.
	ticker := time.NewTicker(min(max(s.settings.Lease/40, 5*time.Millisecond), maxTick))
	defer ticker.Stop()
	for s.narrator.err == nil && s.elapsed() < s.length {
		var err error
		select {
		case <-ctx.Done():
			return nil
		case e := <-s.processes.events:
			err = s.hear(told, e)
		case s.now = <-ticker.C:
			err = errors.Join(s.proceed(), told.look(ctx))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// hear passes on what an actor said. The error says why it ended, if it should not have.
func (s *stage) hear(told story, e event) error {
	s.now = time.Now()
	p, failed := s.processes.heard(e)
	if p == nil {
		return nil
	}
	return errors.Join(told.hear(p, e), failed)
}

// proceed takes the steps that are due.
func (s *stage) proceed() error {
	for len(s.steps) > 0 && s.elapsed() >= s.steps[0].at {
		due := s.steps[0]
		s.steps = s.steps[1:]
		if err := due.do(); err != nil {
			return err
		}
	}
	return nil
}

// elapsed is how much of the time is over.
func (s *stage) elapsed() time.Duration { return s.now.Sub(s.began) }

// note tells of something that happened.
func (s *stage) note(m mood, format string, args ...any) {
	s.noted = s.now
	s.narrator.note(s.elapsed(), m, format, args...)
}

// often tells of something that may happen too often to be told each time.
func (s *stage) often(m mood, format string, args ...any) {
	const pause = 300 * time.Millisecond
	if s.now.Sub(s.noted) >= pause {
		s.note(m, format, args...)
	}
}
