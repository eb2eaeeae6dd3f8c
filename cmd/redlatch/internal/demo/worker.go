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

// MakeLock makes the lock that the workers contend for.
type MakeLock func(client *redlatch.Client, name string, fair bool) redlatch.Lock

// worker is the process that adds one to the counter, over and over.
type worker struct {
	task    task
	lock    redlatch.Lock
	counter *counter
	journal *journal
	events  *json.Encoder
	done    int
}

// Work is a worker. It reads its task from in and reports to out. It blocks until in
// or ctx has ended, which is no error; it then finishes what it is doing inside the
// critical section. The goroutine that reads in ends with in.
func Work(ctx context.Context, in io.Reader, out io.Writer, makeLock MakeLock) (err error) {
	w := &worker{events: json.NewEncoder(out)}
	if err := json.NewDecoder(in).Decode(&w.task); err != nil {
		return fmt.Errorf("read the task: %w", err)
	}
	ctx, dismiss := context.WithCancel(ctx)
	defer dismiss()
	go func() {
		_, _ = io.Copy(io.Discard, in)
		dismiss()
	}()

	client, err := redlatch.Open(ctx, w.task.URL, redlatch.Config{
		LeaseTime: w.task.Lease,
		Logger:    slog.New(slog.NewTextHandler(os.Stderr, nil)),
	})
	if err != nil {
		return dismissed(ctx, err)
	}
	defer func() { err = errors.Join(err, client.Close(context.Background())) }()
	w.lock = makeLock(client, w.task.Lock, w.task.Fair)
	if err := w.openFiles(); err != nil {
		return err
	}
	defer w.closeFiles()
	return w.run(ctx, client.ID())
}

// dismissed drops an error that only says that the worker was told to leave.
func dismissed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

func (w *worker) openFiles() (err error) {
	if w.counter, err = openCounter(w.task.Folder); err != nil {
		return err
	}
	if w.journal, err = openJournal(w.task.Folder); err != nil {
		w.counter.close()
	}
	return err
}

func (w *worker) closeFiles() {
	w.counter.close()
	w.journal.close()
}

func (w *worker) run(ctx context.Context, client string) error {
	if err := w.events.Encode(event{Kind: ready, Client: client}); err != nil {
		return err
	}
	for ctx.Err() == nil {
		if err := w.increment(ctx); err != nil {
			return err
		}
		// Who asks again at once often gets the lock again, and the others
		// would seldom be seen.
		pause(ctx, nil, rand.N(w.task.Work+2*time.Millisecond))
	}
	return nil
}

// increment adds one to the counter under the lock.
func (w *worker) increment(ctx context.Context) error {
	if err := w.events.Encode(event{Kind: waiting}); err != nil {
		return err
	}
	since := time.Now()
	hold, err := w.lock.Lock(ctx)
	if err != nil {
		return dismissed(ctx, err)
	}
	err = w.inside(ctx, hold, since)
	released := hold.Unlock(ctx)
	if errors.Is(released, redlatch.ErrLost) {
		return errors.Join(err, w.events.Encode(event{Kind: lost}))
	}
	return errors.Join(err, released, w.events.Encode(event{Kind: resting, Done: w.done}))
}

// inside is the critical section: read, work, write. What it notes in the journal
// encloses what it does to the counter, and lies within the time of the hold.
func (w *worker) inside(ctx context.Context, hold *redlatch.Hold, since time.Time) error {
	err := w.journal.add(record{Kind: enter, Worker: w.task.Worker, At: nanos(time.Now()), Since: nanos(since)})
	if err != nil {
		return err
	}
	o, err := takeOrder(w.task.Folder, w.task.Worker)
	if err != nil {
		return err
	}
	if err := w.events.Encode(event{Kind: holding, order: o}); err != nil {
		return err
	}
	value, err := w.counter.read()
	if err != nil {
		return err
	}
	pause(ctx, hold.Done(), max(w.task.Work, o.Stay))
	if !hold.Valid() {
		return w.journal.add(record{Kind: quit, Worker: w.task.Worker, At: nanos(time.Now())})
	}
	if err := w.counter.write(value + 1); err != nil {
		return err
	}
	w.done++
	// This is the moment from which the hand-over is measured: all that comes
	// before the release is this one line.
	return w.journal.add(record{Kind: leave, Worker: w.task.Worker, At: nanos(time.Now()), Read: value})
}

// pause waits for d, or until ctx ends or other is closed.
func pause(ctx context.Context, other <-chan struct{}, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	case <-other:
	}
}
