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
	ended   chan int // visits that the parent has ended
	client  *redlatch.Client
	lock    redlatch.Lock
	counter counter
	out     *json.Encoder
}

// Act is an actor. It reads its task from in, then the number of each visit that it is to
// end, and reports to out. It blocks until the input or ctx has ended, and first finishes its
// critical section. Neither end is an error. The goroutine that reads the input ends with it.
func Act(ctx context.Context, in io.Reader, out io.Writer, makeLock MakeLock) (err error) {
	a := &actor{out: json.NewEncoder(out), ended: make(chan int)}
	lines := json.NewDecoder(in)
	if err := lines.Decode(&a.task); err != nil {
		return fmt.Errorf("read the task: %w", err)
	}
	ctx, dismiss := context.WithCancel(ctx)
	defer dismiss()
	go func() {
		defer dismiss()
		for visit := 0; lines.Decode(&visit) == nil; {
			select {
			case a.ended <- visit:
			case <-ctx.Done():
			}
		}
	}()
	client, err := redlatch.Open(ctx, a.task.URL, redlatch.Config{
		LeaseTime: a.task.Lease, Protect: a.task.Protect, Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	})
	if err != nil {
		return dismissed(ctx, err)
	}
	defer func() { err = errors.Join(err, client.Close(context.Background())) }()
	a.client = client
	a.lock = makeLock(a.client, a.task.Lock, a.task.Fair)
	file, err := os.OpenFile(a.task.Counter, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	a.counter = counter{file}
	return a.run(ctx)
}

// dismissed drops an error that only says that the actor was told to leave.
func dismissed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// run visits the critical section over and over, with rests between.
func (a *actor) run(ctx context.Context) error {
	for visit := 1; ctx.Err() == nil; visit++ {
		if err := a.visit(ctx, visit); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(a.task.Rest/2 + rand.N(a.task.Rest/2)):
		}
	}
	return nil
}

// visit is all from the request for the lock to its release.
func (a *actor) visit(ctx context.Context, visit int) error {
	if err := a.say(event{Kind: waiting, Client: a.client.ID()}); err != nil {
		return err
	}
	since := time.Now()
	hold, err := a.lock.Lock(ctx)
	if err != nil {
		return dismissed(ctx, err)
	}
	err = a.say(event{Kind: enter, Since: since.UnixNano(), Visit: visit})
	if err == nil {
		err = a.increment(ctx, hold, visit)
	}
	if released := hold.Unlock(ctx); !errors.Is(released, redlatch.ErrLost) {
		err = errors.Join(err, released, a.say(event{Kind: resting}))
	}
	return err
}

// increment is the critical section: read, stay, write. The events before and after enclose
// what it does to the counter, and lie within the time of the hold.
func (a *actor) increment(ctx context.Context, hold *redlatch.Hold, visit int) error {
	value, err := a.counter.read()
	if err != nil {
		return err
	}
	if err := a.stay(ctx, hold, visit); err != nil {
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

// stay waits until the parent has ended the visit, ctx has ended or the hold is lost. It says
// what becomes of the hold meanwhile: each change, and how things stand after a gap, in
// which they may have changed and changed back.
func (a *actor) stay(ctx context.Context, hold *redlatch.Hold, visit int) error {
	ticker := time.NewTicker(time.Millisecond) // after a pause there is little time to see it in doubt
	defer ticker.Stop()
	last := event{Kind: holds}
	for looked := time.Now(); ; {
		select {
		case ended := <-a.ended:
			if ended == visit { // and not one that the loss of a hold has ended before
				return nil
			}
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

func (a *actor) say(e event) error {
	e.Number, e.At = a.task.Number, time.Now().UnixNano()
	return a.out.Encode(e)
}

// counter is a number in a file. Nothing guards it: whoever reads, adds one and
// writes at the same time as another loses an increment.
type counter struct{ *os.File }

const digits = 20

func (c counter) read() (value int64, err error) {
	_, err = fmt.Fscanf(io.NewSectionReader(c, 0, digits), "%d", &value)
	return value, err
}

// write writes the number in a fixed width. So it is one short overwrite, and a process
// killed in it leaves the old number or the new one.
func (c counter) write(value int64) error {
	_, err := c.WriteAt(fmt.Appendf(nil, "%0*d\n", digits, value), 0)
	return err
}
