package console

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/inspect"
)

// Goal: viewers get the table once, and then only the rows that change. A lease that runs down is no
// change.
func TestViewersGetChangesAndNotTheTable(t *testing.T) {
	t.Parallel()
	a, b := held("a", "owner:1", 30*time.Second), held("b", "owner:2", 30*time.Second)
	src := newSource(a, b)
	s := serve(t, src, Options{Title: "here"})
	w := s.watch()
	if kind, hello := w.next(); kind != "hello" || hello.Title != "here" || hello.Unlock {
		t.Errorf("it begins with %s %+v", kind, hello)
	}
	first := w.begin(2)
	older := func(l inspect.Lock, by time.Duration) inspect.Lock {
		by += 40 * time.Millisecond // so long took reading
		l.Seen, l.TTL = l.Seen.Add(by), l.TTL-by+80*time.Millisecond
		l.Holders = slices.Clone(l.Holders)
		l.Holders[0].TTL = l.TTL
		return l
	}
	renewed := older(b, 10*time.Second)
	renewed.TTL, renewed.Holders[0].TTL = 30*time.Second, 30*time.Second
	src.set(reading(older(a, 10*time.Second), renewed), nil)
	kind, change := w.next()
	if kind != "change" || len(change.Set) != 1 || change.Set[0].Name != "b" || len(change.Gone) != 0 {
		t.Fatalf("after a renewal of b: %s %+v", kind, change)
	}
	if by := change.Set[0].Ends - first["b"].Ends; by < 9_000 || by > 11_000 {
		t.Errorf("the end of b moved by %d ms", by)
	}
	src.set(reading(older(a, 10*time.Second)), nil)
	if kind, change = w.next(); kind != "change" || len(change.Set) != 0 || !slices.Equal(change.Gone, []string{first["b"].ID}) {
		t.Errorf("after the release of b: %s %+v", kind, change)
	}
}

// Goal: one reader serves all viewers. It ends some time after the last, and begins with the next.
func TestViewersShareOneReaderThatEndsWithThem(t *testing.T) {
	t.Parallel()
	src := newSource(held("a", "owner:1", time.Minute))
	s := serve(t, src, Options{})
	s.console.feed.linger = time.Millisecond
	one, other := s.watch(), s.watch()
	one.begin(1)
	other.begin(1)
	one.leave()
	other.leave()
	<-src.ended
	if src.began != 1 {
		t.Errorf("%d readers ran for two viewers", src.began)
	}
	s.console.feed.mu.Lock()
	if _, gaps := s.console.feed.history.of("", 0, time.Now()); len(gaps) != 1 {
		t.Errorf("while nobody looks the history has the gaps %v", gaps)
	}
	s.console.feed.mu.Unlock()
	s.watch().begin(1)
	if src.began != 2 {
		t.Errorf("%d readers ran in all", src.began)
	}
}

// Goal: a viewer that comes back soon finds the reader still at work.
func TestAReaderOutlivesAReload(t *testing.T) {
	t.Parallel()
	src := newSource(held("a", "owner:1", time.Minute))
	s := serve(t, src, Options{})
	w := s.watch()
	w.begin(1)
	w.leave()
	again := s.watch()
	again.begin(1)
	s.console.Close()
	<-src.ended
	if src.began != 1 {
		t.Errorf("%d readers ran", src.began)
	}
}

// Goal: streams end with the console, so that a server can shut down.
func TestStreamsEndWithTheConsole(t *testing.T) {
	t.Parallel()
	s := serve(t, newSource(held("a", "owner:1", time.Minute)), Options{})
	w := s.watch()
	w.begin(1)
	s.console.Close()
	if _, err := io.ReadAll(w.lines); err != nil {
		t.Error("the stream did not end: ", err)
	}
	if code, _, _ := s.ask("GET", "/events", ""); code != http.StatusServiceUnavailable {
		t.Errorf("afterwards: %d", code)
	}
}

// Goal: a viewer that takes nothing is dropped, and does not hold up the others.
func TestASlowViewerIsDropped(t *testing.T) {
	t.Parallel()
	f := newFeed(newSource(), Options{Every: time.Second})
	defer f.close()
	slow, quick := must2(t, f), must2(t, f)
	got := 0
	for i := range queueLength + 5 {
		f.mu.Lock()
		f.tell(message(fmt.Sprint(i)))
		f.mu.Unlock()
		<-quick.queue
		got++
	}
	select {
	case <-slow.dropped:
	default:
		t.Error("the slow viewer is still there")
	}
	select {
	case <-quick.dropped:
		t.Error("the quick viewer was dropped")
	default:
	}
	if got != queueLength+5 || len(slow.queue) > queueLength {
		t.Errorf("the quick one got %d, the slow one keeps %d", got, len(slow.queue))
	}
}

func must2(t *testing.T, f *feed) *viewer {
	t.Helper()
	v, err := f.join()
	return must(t, v, err)
}

func TestThereIsRoomForSoManyViewers(t *testing.T) {
	t.Parallel()
	f := newFeed(newSource(), Options{Every: time.Second})
	for range maxViewers {
		must2(t, f)
	}
	if _, err := f.join(); !errors.Is(err, errViewers) {
		t.Errorf("one more: %v", err)
	}
	f.close()
	if _, err := f.join(); !errors.Is(err, errClosed) {
		t.Errorf("after the end: %v", err)
	}
}

// Goal: viewers learn that Redis cannot be read, what to do, and that it can be again.
func TestViewersLearnOfTrouble(t *testing.T) {
	t.Parallel()
	src := newSource(held("a", "owner:1", time.Minute))
	s := serve(t, src, Options{Every: minEvery})
	w := s.watch()
	w.begin(1)
	src.set(inspect.Snapshot{}, &driver.ServerError{Message: "NOPERM this user has no permissions to run the 'scan' command\r\nfoo"})
	if trouble := w.until("trouble"); trouble.Hint != hints["NOPERM"] || trouble.Text == "" {
		t.Errorf("got %+v", trouble)
	}
	late := s.watch()
	if trouble := late.until("trouble"); trouble.Hint != hints["NOPERM"] {
		t.Errorf("who comes later gets %+v", trouble)
	}
	src.set(reading(held("a", "owner:1", time.Minute)), nil)
	w.until("well")
}

// Goal: waits that are told beside the queues are in the rows, once each.
func TestWaitsThatAreToldAreShown(t *testing.T) {
	t.Parallel()
	lock := held("a", "owner:1", time.Minute)
	lock.Queue = []inspect.Waiter{{Owner: "other:2", Deadline: time.Now()}}
	f := newTable()
	f.update(reading(lock), []Wait{{Lock: "a", Owner: "other:2", Under: []string{"other:9"}, Certain: true}, {Lock: "a", Owner: "third:3", Under: []string{"third:4"}}, {Lock: "b", Owner: "x"}}, nil, "")
	row := f.entries[idOf("a")].row
	if told := row.Told; len(told) != 1 || told[0].Key != idOf("third:3") || !slices.Equal(told[0].Under, []string{idOf("third:4")}) || told[0].Certain {
		t.Errorf("beside the queue are %+v", told)
	}
	if queue := row.Queue; len(queue) != 1 || !slices.Equal(queue[0].Under, []string{idOf("other:9")}) || !queue[0].Certain {
		t.Errorf("the queue is %+v", queue)
	}
}

// Goal: a row has a bounded number of waits, and says how many it leaves out.
func TestWaitsThatAreLeftOutAreCounted(t *testing.T) {
	t.Parallel()
	lock, waits := held("a", "owner:1", time.Minute), []Wait{}
	for i := range 1500 {
		owner := "other:" + strconv.Itoa(i)
		if waits = append(waits, Wait{Lock: "a", Owner: owner}); i < 1000 {
			lock.Queue = append(lock.Queue, inspect.Waiter{Owner: owner})
		}
	}
	f := newTable()
	f.update(reading(lock), waits, nil, "")
	if row := f.entries[idOf("a")].row; len(row.Queue) != maxQueue || row.Queued != 1000 || len(row.Told) != maxQueue || row.Untold != 500-maxQueue {
		t.Errorf("queue %d of %d, told %d and %d more", len(row.Queue), row.Queued, len(row.Told), row.Untold)
	}
}

// silenced is a source that may not read everything.
type silenced struct{ *source }

func (silenced) Notices() []string { return []string{"no CLIENT LIST"} }

func TestViewersLearnWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	s := serve(t, silenced{newSource(held("a", "owner:1", time.Minute))}, Options{})
	w := s.watch()
	if change := w.until("change"); change.Notice != "no CLIENT LIST" {
		t.Errorf("the change has %q", change.Notice)
	}
	if hello := s.watch().until("hello"); hello.Notice != "no CLIENT LIST" {
		t.Errorf("who comes later gets %q", hello.Notice)
	}
}

// Goal: a server that cannot stream says so, rather than nothing.
func TestAServerThatCannotStreamIsNamed(t *testing.T) {
	t.Parallel()
	c := must1(New(newSource(), Options{}))
	defer c.Close()
	recorder := httptest.NewRecorder()
	c.ServeHTTP(struct{ http.ResponseWriter }{recorder}, httptest.NewRequest("GET", "http://localhost/events", nil))
	if recorder.Code != http.StatusInternalServerError || !strings.Contains(recorder.Body.String(), "cannot stream") {
		t.Errorf("got %d %s", recorder.Code, recorder.Body)
	}
}

// panicking is a source that panics when it is followed for the first time.
type panicking struct {
	*source
	once sync.Once
}

func (p *panicking) Follow(ctx context.Context, pattern string, every time.Duration) iter.Seq2[inspect.Snapshot, error] {
	p.once.Do(func() { panic("ouch") })
	return p.source.Follow(ctx, pattern, every)
}

// Goal: a source that panics is told of, and followed again.
func TestASourceMayPanic(t *testing.T) {
	t.Parallel()
	w := serve(t, &panicking{source: newSource(held("job", "a:1", time.Minute))}, Options{}).watch()
	if trouble := w.until("trouble"); !strings.Contains(trouble.Text, "panicked: ouch") {
		t.Errorf("got %+v", trouble)
	}
	w.begin(1)
}
