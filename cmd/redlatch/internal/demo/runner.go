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

// scenario is one of the two that can be shown.
type scenario interface {
	// begin starts its actors, and says what happens when.
	begin(ctx context.Context) error
	// hear takes what an actor says.
	hear(p *process, e event) error
	// look asks Redis how things stand, and shows it.
	look(ctx context.Context) error
	// conclude shows the result when no actor is left, and says whether the lock kept its
	// promises.
	conclude(interrupted, failed bool) (sound bool)
}

// runner is what both scenarios need: a server, actors, a screen and a clock.
type runner struct {
	settings  Settings
	screen    *screen
	processes *processes
	url       string // for the actors
	address   string // for people, without the password
	client    *redlatch.Client
	gauges    []*gauge // of locks that nobody else uses
	counter   counter

	began, now time.Time // now is when the parent last woke up
	noted      time.Time // when something was noted last
	length     time.Duration
	steps      chan func() error // what the parent is to do now
	over       chan struct{}     // closed when the actors are to leave
	helpers    sync.WaitGroup    // that work until the end
}

// Run shows the demonstration on out. It returns when that is over or ctx has ended. Either
// way it leaves no process, no file and nothing in Redis. Verb is the hidden verb of
// this program that runs Act.
//
// It reports whether the lock kept its promises, as far as the demonstration went. Errors:
// *redlatch.ConfigError if the URL is invalid; others if Redis, an actor or out failed.
func Run(ctx context.Context, settings Settings, out io.Writer, verb string) (sound bool, err error) {
	r := &runner{settings: settings, url: settings.Redis, steps: make(chan func() error), over: make(chan struct{})}
	r.began, r.now = time.Now(), time.Now()
	if r.url == "" {
		server, err := memory.Serve("127.0.0.1:0")
		if err != nil {
			return true, err
		}
		defer server.Close()
		r.url = "redis://" + server.Addr()
		r.address = r.url + " (embedded)"
	} else if u, err := url.Parse(r.url); err == nil {
		r.address = u.Scheme + "://" + u.Host
	}
	client, err := redlatch.Open(ctx, r.url, redlatch.Config{LeaseTime: settings.Lease, Logger: slog.New(slog.DiscardHandler)})
	if err != nil && ctx.Err() != nil {
		fmt.Fprintln(out, "interrupted before the first process was started")
		return true, nil
	}
	if err != nil {
		return true, err
	}
	defer client.Close(context.Background())
	r.client = client
	program, err := os.Executable()
	if err != nil {
		return true, fmt.Errorf("find this program to start it again: %w", err)
	}
	if r.processes, err = newProcesses(program, verb); err != nil {
		return true, err
	}
	defer r.processes.stdout.Close()
	file, err := os.CreateTemp("", "redlatch-demo-")
	if err != nil {
		return true, err
	}
	defer os.Remove(file.Name())
	defer file.Close()
	r.counter = counter{file}
	if err := r.counter.write(0); err != nil {
		return true, err
	}
	if settings.Console {
		page, end, err := serveConsole(r.client, r.address)
		if err != nil {
			return true, err
		}
		defer end()
		r.address += "   console " + page
	}
	if settings.Pause {
		r.screen = newScreen(out, pauseHeight)
		return r.run(ctx, newPausing(r))
	}
	r.screen = newScreen(out, minHeight)
	return r.run(ctx, newCounting(r))
}

// newGauge watches a lock with a name of its own.
func (r *runner) newGauge() *gauge {
	name := "redlatch:demo:" + strings.ToLower(rand.Text()[:8])
	g := &gauge{name: name, lock: r.client.FairMutex(name), lease: r.settings.Lease}
	r.gauges = append(r.gauges, g)
	return g
}

// run shows a scenario, and ends it whatever has come of it.
func (r *runner) run(ctx context.Context, shown scenario) (sound bool, err error) {
	playing, stop := context.WithCancel(ctx)
	hear := func(e event) error {
		r.now = time.Now()
		p, failed := r.processes.heard(e)
		return errors.Join(shown.hear(p, e), failed)
	}
	if err = shown.begin(playing); err == nil {
		err = r.play(ctx, shown.look, hear)
	}
	close(r.over)
	err = errors.Join(dismissed(ctx, err), r.processes.end(hear))
	for _, g := range r.gauges { // an actor that was killed may have left its lock
		_, failed := g.lock.ForceUnlock(context.Background())
		err = errors.Join(err, failed)
	}
	stop()
	r.helpers.Wait()
	r.now = time.Now()
	sound = shown.conclude(ctx.Err() != nil, err != nil || r.screen.err != nil)
	if ctx.Err() == nil { // otherwise whoever looked on may have gone
		err = errors.Join(err, r.screen.err)
	}
	return sound, err
}

// maxTick is the longest time between two looks at Redis.
const maxTick = 50 * time.Millisecond

// play reacts to what happens until the time is over.
func (r *runner) play(ctx context.Context, look func(context.Context) error, hear func(event) error) (err error) {
	// Short against the renewal interval, so that no jump of the TTL is missed.
	ticker := time.NewTicker(min(max(r.settings.Lease/40, 5*time.Millisecond), maxTick))
	defer ticker.Stop()
	for err == nil && r.screen.err == nil && r.elapsed() < r.length {
		select {
		case <-ctx.Done():
			return nil
		case e := <-r.processes.events:
			err = hear(e)
		case do := <-r.steps:
			r.now = time.Now()
			err = do()
		case r.now = <-ticker.C:
			err = look(ctx)
		}
	}
	return err
}

// start starts an actor for a lock.
func (r *runner) start(g *gauge, t task) (*process, error) {
	t.URL, t.Lock, t.Lease, t.Counter = r.url, g.name, r.settings.Lease, r.counter.Name()
	return r.processes.start(t)
}

// after has something done at a time from now, unless the actors are leaving by then.
func (r *runner) after(wait time.Duration, do func() error) {
	time.AfterFunc(wait, func() {
		select {
		case r.steps <- do:
		case <-r.over:
		}
	})
}

// elapsed is how much of the time is over.
func (r *runner) elapsed() time.Duration { return r.now.Sub(r.began) }

// note tells of something that happened.
func (r *runner) note(c colour, format string, args ...any) {
	r.noted = r.now
	r.screen.note(r.elapsed(), c, format, args...)
}

// often tells of something that may happen too often to be told each time.
func (r *runner) often(c colour, format string, args ...any) {
	const pause = 300 * time.Millisecond
	if r.now.Sub(r.noted) >= pause {
		r.note(c, format, args...)
	}
}
