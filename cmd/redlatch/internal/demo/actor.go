package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"time"

	"github.com/redlatch/redlatch"
)

// MakeLock makes the lock that the actors contend for.
type MakeLock func(client *redlatch.Client, name string, fair bool) redlatch.Lock

// actor is a process that takes the lock, stays inside and releases it, over and over.
type actor struct {
	task    task
	orders  chan order
	client  *redlatch.Client
	lock    redlatch.Lock
	counter counter
	out     *json.Encoder
	visit   int
}

// Act is an actor. It reads its task and its orders from in and reports to out. It
// blocks until the input or ctx has ended, and first finishes its critical section.
// Neither end is an error. The goroutine that reads the input ends with it.
func Act(ctx context.Context, in io.Reader, out io.Writer, makeLock MakeLock) (err error) {
	a := &actor{out: json.NewEncoder(out), orders: make(chan order)}
	lines := json.NewDecoder(in)
	if err := lines.Decode(&a.task); err != nil {
		return fmt.Errorf("read the task: %w", err)
	}
	ctx, dismiss := context.WithCancel(ctx)
	defer dismiss()
	go func() {
		defer dismiss()
		for o := (order{}); lines.Decode(&o) == nil; {
			select {
			case a.orders <- o:
			case <-ctx.Done():
			}
		}
	}()
	a.client, err = redlatch.Open(ctx, a.task.URL, redlatch.Config{
		LeaseTime: a.task.Lease, Protect: a.task.Protect, Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	})
	if err != nil {
		return dismissed(ctx, err)
	}
	defer func() { err = errors.Join(err, a.client.Close(context.Background())) }()
	a.lock = makeLock(a.client, a.task.Lock, a.task.Fair)
	if a.counter, err = openCounter(a.task.Counter); err != nil {
		return err
	}
	defer a.counter.Close()
	return a.run(ctx)
}

// dismissed drops an error that only says that the actor was told to leave.
func dismissed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

func (a *actor) say(e event) error {
	e.Number, e.At = a.task.Number, time.Now().UnixNano()
	return a.out.Encode(e)
}

func (a *actor) run(ctx context.Context) error {
	if err := a.say(event{Kind: ready, Client: a.client.ID()}); err != nil {
		return err
	}
	for ctx.Err() == nil {
		if err := a.enter(ctx); err != nil {
			return err
		}
		var rested <-chan time.Time
		if a.task.Rest > 0 {
			// Whoever asks again at once often gets the lock again, and the others would
			// seldom be seen.
			rested = time.After(rand.N(a.task.Rest))
		}
		select {
		case <-ctx.Done():
		case <-rested:
		}
	}
	return nil
}

// enter is one visit, from the request for the lock to its release.
func (a *actor) enter(ctx context.Context) error {
	if err := a.say(event{Kind: waiting}); err != nil {
		return err
	}
	since := time.Now()
	hold, err := a.lock.Lock(ctx)
	if err != nil {
		return dismissed(ctx, err)
	}
	a.visit++
	err = a.inside(ctx, hold, since)
	if released := hold.Unlock(ctx); !errors.Is(released, redlatch.ErrLost) {
		err = errors.Join(err, released, a.say(event{Kind: resting}))
	}
	return err
}

// inside is the critical section: read, stay, write. Its first and its last event
// enclose what it does to the counter, and lie within the time of the hold.
func (a *actor) inside(ctx context.Context, hold *redlatch.Hold, since time.Time) error {
	if err := a.say(event{Kind: enter, Since: since.UnixNano(), Visit: a.visit}); err != nil {
		return err
	}
	value, err := a.counter.read()
	if err != nil {
		return err
	}
	if err := a.stay(ctx, hold); err != nil {
		return err
	}
	if !hold.Valid() {
		return a.say(event{Kind: lost})
	}
	if err := a.counter.write(value + 1); err != nil {
		return err
	}
	// The hand-over is measured from here: only this line comes before the release.
	return a.say(event{Kind: leave, Read: value})
}

// stay waits until the ordered time is over, ctx has ended or the hold is lost. It says
// what becomes of the hold meanwhile: each change, and how things stand after a gap, in
// which they may have changed and changed back.
func (a *actor) stay(ctx context.Context, hold *redlatch.Hold) error {
	ticker := time.NewTicker(time.Millisecond) // after a pause there is little time to see it in doubt
	defer ticker.Stop()
	var over <-chan time.Time // nil before the order comes
	last := event{Kind: holds}
	for looked := time.Now(); ; {
		select {
		case o := <-a.orders:
			if o.Visit == a.visit {
				over = time.After(o.Stay)
			}
		case <-over:
			return nil
		case <-ctx.Done():
			return nil
		case <-hold.Done():
			return nil
		case <-ticker.C:
		}
		before := looked
		looked = time.Now() // first: a pause between the two lines must not make old news of it
		now := event{Kind: holds, Watchdogs: a.client.Stats().Watchdogs}
		if !hold.Valid() {
			now.Kind = doubts
		}
		if hold.Err() != nil || now == last && looked.Sub(before) <= a.task.Lease/4 {
			continue
		}
		last = now
		if err := a.say(now); err != nil {
			return err
		}
	}
}
