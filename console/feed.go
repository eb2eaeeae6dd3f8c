package console

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"time"

	"github.com/redlatch/redlatch/inspect"
)

// feed reads Redis once for all viewers, as long as there are any.
type feed struct {
	source  Source
	options Options
	linger  time.Duration // how long it reads on after the last viewer

	mu      sync.Mutex
	viewers map[*viewer]bool
	table   *table
	history *history
	trouble *trouble // why Redis could not be read, nil if it could
	failed  bool     // since the last reading
	blind   bool     // the same, and it was the source that failed
	reader  reader
	closed  bool
	readers sync.WaitGroup
}

// reader is the goroutine that reads.
type reader struct {
	end    context.CancelFunc // nil: none runs
	number int                // of those that have been started
	expiry *time.Timer        // ends it after the last viewer, nil while there is one
	at     time.Time          // of its last word, or of its begin
	took   time.Duration      // from one word to the next, while there was no trouble
	late   *time.Timer        // says that it is silent
}

// The bounds of a feed.
const (
	maxViewers = 100
	linger     = 30 * time.Second // longer than a reload of the page takes
)

var (
	errClosed  = errors.New("the console ends")
	errViewers = errors.New("too many viewers look already")
	errSilent  = errors.New("there is no answer")
)

func newFeed(source Source, options Options) *feed {
	return &feed{
		source: source, options: options, linger: linger,
		viewers: map[*viewer]bool{}, table: newTable(), history: newHistory(),
	}
}

// join adds a viewer, and starts to read if it is the first.
func (f *feed) join() (*viewer, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.closed:
		return nil, errClosed
	case len(f.viewers) >= maxViewers:
		return nil, errViewers
	}
	v := newViewer()
	v.rows = f.table.rows() // what comes later is put into its queue
	v.extent, v.trouble = f.table.extent, f.trouble
	f.viewers[v] = true
	if f.reader.expiry != nil {
		f.reader.expiry.Stop()
		f.reader.expiry = nil
	}
	if f.reader.end == nil {
		f.read()
	}
	return v, nil
}

// leave takes a viewer away. Reading ends some time after the last.
func (f *feed) leave(v *viewer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.viewers, v)
	if len(f.viewers) > 0 || f.reader.end == nil || f.reader.expiry != nil {
		return
	}
	number := f.reader.number
	f.reader.expiry = time.AfterFunc(f.linger, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if number == f.reader.number && len(f.viewers) == 0 && f.reader.end != nil {
			f.stop()
		}
	})
}

// stop ends the reader. What was read grows old from now on: the table is dropped, the history has
// a gap.
func (f *feed) stop() {
	f.reader.end()
	f.reader.late.Stop()
	f.reader.end, f.reader.expiry = nil, nil
	f.table, f.trouble, f.failed, f.blind = newTable(), nil, false, false
	f.history.pause(time.Now())
}

// read starts a reader.
func (f *feed) read() {
	ctx, end := context.WithCancel(context.Background())
	f.reader.number++
	f.reader.end = end
	number := f.reader.number
	f.reader.at, f.reader.took = time.Now(), silent // the first round may be long
	f.reader.late = time.AfterFunc(f.patience(), func() { f.silence(number) })
	f.readers.Go(func() { f.run(ctx, number) })
}

// silent is for how long a reader may say nothing, at least.
const silent = 5 * time.Second

// patience is for how long this reader may say nothing. A round is slow where there are many locks.
func (f *feed) patience() time.Duration { return silent + f.options.Every + f.reader.took }

// heard notes that the reader has said something.
func (f *feed) heard(now time.Time) {
	if f.trouble == nil {
		f.reader.took = now.Sub(f.reader.at)
	}
	f.reader.at = now
	f.reader.late.Reset(f.patience())
}

// silence tells viewers that a reader says nothing, neither locks nor an error.
func (f *feed) silence(number int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if number == f.reader.number && f.reader.end != nil {
		f.fail(newTrouble(errSilent, time.Now()))
		f.history.pause(f.reader.at)
	}
}

// restartAfter is the pause after a source has ended by itself.
const restartAfter = time.Second

// run reads until ctx ends.
func (f *feed) run(ctx context.Context, number int) {
	waits := aside[Wait]{read: f.options.Waits, every: f.options.Every, start: f.readers.Go}
	permits := aside[inspect.Counter]{read: permitsOf(f.source, f.options.Pattern), every: f.options.Every, start: f.readers.Go}
	for ctx.Err() == nil {
		for snapshot, err := range f.follow(ctx) {
			if err == nil {
				before, first := permits.all, permits.next.IsZero()
				soon, end := context.WithTimeout(ctx, briefly)
				err = cmp.Or(waits.again(ctx, soon), permits.again(ctx, soon))
				if end(); !first {
					snapshot.Events = append(snapshot.Events, inspect.Diff(locksOf(before), locksOf(permits.all), snapshot.At)...)
				}
			}
			if ctx.Err() != nil {
				return
			}
			f.apply(number, snapshot, waits.all, permits.all, err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(restartAfter):
		}
	}
}

// follow is what the source yields, and an error if it panics.
func (f *feed) follow(ctx context.Context) iter.Seq2[inspect.Snapshot, error] {
	return func(yield func(inspect.Snapshot, error) bool) {
		more := true
		defer func() {
			if p := recover(); p != nil && more {
				yield(inspect.Snapshot{}, fmt.Errorf("console: the source panicked: %v", p))
			}
		}()
		f.source.Follow(ctx, f.options.Pattern, f.options.Every)(func(snapshot inspect.Snapshot, err error) bool {
			more = yield(snapshot, err)
			return more
		})
	}
}

// apply takes what a reader has read, and tells the viewers what has changed.
func (f *feed) apply(number int, snapshot inspect.Snapshot, waits []Wait, permits []inspect.Counter, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if number != f.reader.number || f.reader.end == nil {
		return // it has been stopped meanwhile
	}
	before := f.reader.at
	f.heard(time.Now())
	if err != nil {
		f.fail(newTrouble(err, time.Now()))
		f.failed = true
	}
	if snapshot.At.IsZero() { // nothing was read
		f.blind = true
		f.history.pause(before)
		return
	}
	if f.blind { // it has old locks
		f.blind = false
		f.history.remember(snapshot.Events, snapshot.At)
	} else {
		f.history.add(snapshot.Events, snapshot.At)
	}
	change := f.table.update(snapshot, waits, permits, f.notice())
	if !f.failed && f.trouble != nil {
		f.trouble = nil
		f.tell(newMessage("well", map[string]int64{"at": snapshot.At.UnixMilli()}))
	}
	f.failed = false
	if !change.empty() {
		f.tell(newMessage("change", change))
	}
}

// notice is what the source cannot read, because this user may not.
func (f *feed) notice() string {
	if n, ok := f.source.(interface{ Notices() []string }); ok {
		return shownText(strings.Join(n.Notices(), " "))
	}
	return ""
}

// fail says that something could not be read. One server of several may fail, so there may be a
// reading all the same.
func (f *feed) fail(t *trouble) {
	if f.trouble == nil || f.trouble.Text != t.Text {
		f.trouble = t
		f.tell(t.message())
	}
}

// note adds an event that only the console knows.
func (f *feed) note(e inspect.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.history.remember([]inspect.Event{e}, e.At)
}

// hasForced says that this console has done what is asked for, a moment ago.
func (f *feed) hasForced(asked unlockRequest) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.history.forced(asked.Lock, asked.Owner, time.Now())
}

// tell gives a message to every viewer. One whose queue is full is dropped.
func (f *feed) tell(m message) {
	for v := range f.viewers {
		if !v.offer(m) {
			delete(f.viewers, v)
		}
	}
}

// close ends everything, and waits for the reader.
func (f *feed) close() {
	f.mu.Lock()
	f.closed = true
	if f.reader.expiry != nil {
		f.reader.expiry.Stop()
	}
	if f.reader.end != nil {
		f.stop()
	}
	for v := range f.viewers {
		v.drop()
		delete(f.viewers, v)
	}
	f.mu.Unlock()
	f.readers.Wait()
}
