package renew_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/internal/renew"
)

// Goal: whatever happens in whatever order, nothing is renewed after Remove returned,
// nobody is dropped silently or early or late, and nobody trusts a lease that Redis
// has already ended. Method: random verbs and faults on a few items, in fake time,
// beside a Redis that knows the true expiries; everything is checked every 25 ms.

// step is one thing that happens. It is drawn before the clock is faked.
type step struct {
	verb  string
	item  int
	lease time.Duration
	fixed bool
	span  time.Duration
}

func (s step) String() string {
	return fmt.Sprintf("%s %d lease=%v fixed=%v span=%v", s.verb, s.item, s.lease, s.fixed, s.span)
}

const few = 6

func drawPlan(random *rand.Rand) []step {
	return redistest.PlanOf(random, 10, 60, func(random *rand.Rand) step {
		return step{
			verb:  redistest.Pick(random, "set", "set", "plan", "remove", "force", "up", "up", "down", "hang", "wait", "wait", "wait"),
			item:  random.IntN(few),
			lease: redistest.Pick[time.Duration](random, 3, 6, 12, 30) * time.Second,
			fixed: random.IntN(4) == 0,
			span:  time.Duration(random.IntN(8001)) * time.Millisecond,
		}
	})
}

func TestRandomVerbsAndFaultsBreakNoPromise(t *testing.T) {
	redistest.Plans(t, 100, drawPlan, func(plan []step) (err error) {
		synctest.Test(t, func(*testing.T) {
			w := newWorld()
			for _, s := range plan {
				w.take(s)
				w.check()
			}
			w.engine.Stop()
			if len(w.complaints) > 0 {
				err = errors.New(strings.Join(w.complaints, "\n"))
			}
		})
		return err
	})
}

// world is an engine, a Redis, and what must be true of both.
type world struct {
	engine     *renew.Engine
	server     *server
	began      time.Time
	up         time.Time // since when the server answers everything; zero while it does not
	places     [few]*subject
	past       []*subject
	complaints []string
}

// subject is one item's way through the engine; a new one takes its place afterwards.
type subject struct {
	holder
	removed time.Time // zero unless Remove was true
}

func newWorld() *world {
	w := &world{server: newServer(), began: time.Now(), up: time.Now()}
	w.engine = renew.StartUnguarded(w.server.renew)
	return w
}

func (w *world) complain(format string, args ...any) {
	text := fmt.Sprintf("at %v: ", time.Since(w.began)) + fmt.Sprintf(format, args...)
	if len(w.complaints) < 5 {
		w.complaints = append(w.complaints, text)
	}
}

func (w *world) take(s step) {
	switch s.verb {
	case "set":
		w.set(s)
	case "plan":
		if h := w.places[s.item]; h != nil && h.Term().Every > 0 {
			w.engine.Set(&h.Item, renew.Term{Lease: s.lease, Every: s.lease / 3})
		}
	case "remove":
		w.remove(s.item)
	case "force":
		if h := w.places[s.item]; h != nil {
			w.server.set(func() { w.server.gone[&h.Item] = true })
		}
	case "up":
		w.server.set(func() { w.server.down, w.server.hanging, w.server.latency = nil, false, s.span/100 })
		if w.up.IsZero() {
			w.up = time.Now()
		}
	case "down":
		w.server.set(func() { w.server.down, w.up = errDown, time.Time{} })
	case "hang":
		w.server.set(func() { w.server.hanging, w.up = true, time.Time{} })
	case "wait":
		for end := time.Now().Add(s.span); time.Now().Before(end); w.check() {
			time.Sleep(min(25*time.Millisecond, time.Until(end)))
		}
	}
}

// set acquires, or re-enters with any lease.
func (w *world) set(s step) {
	h := w.places[s.item]
	if h == nil || len(h.lost()) > 0 || w.server.isGone(&h.Item) {
		w.leave(s.item)
		h = new(subject)
		h.Subject = h
		w.places[s.item] = h
	}
	term := renew.Term{Asked: time.Now(), Lease: s.lease}
	if !s.fixed {
		term.Every = term.Lease / 3
	}
	w.server.set(func() { w.server.raise(&h.Item, term.Lease) })
	w.engine.Set(&h.Item, term)
}

func (w *world) remove(i int) {
	synctest.Wait()
	w.leave(i)
}

func (w *world) leave(i int) {
	h := w.places[i]
	if h == nil {
		return
	}
	if w.engine.Remove(&h.Item) {
		h.removed = time.Now()
		if len(h.lost()) > 0 {
			w.complain("Remove found an item that was lost")
		}
	} else if len(h.lost()) != 1 {
		w.complain("Remove did not find an item that was not lost")
	}
	w.past = append(w.past, h)
	w.places[i] = nil
}

// check holds the engine to its promises.
func (w *world) check() {
	synctest.Wait()
	watched := w.engine.Items()
	for i, h := range w.places {
		if h == nil {
			continue
		}
		w.checkItem(i, h, slices.Contains(watched, &h.Item))
	}
	for _, h := range w.past {
		if n := len(h.lost()); n > 1 || n == 1 && !h.removed.IsZero() {
			w.complain("Lost was called %d times, removed at %v", n, h.removed.Sub(w.began))
		}
		if slices.Contains(watched, &h.Item) {
			w.complain("a removed item is watched")
		}
	}
	for _, r := range w.server.log() {
		for _, h := range w.past {
			if !h.removed.IsZero() && r.at.After(h.removed) && slices.Contains(r.items, &h.Item) {
				w.complain("an item removed at %v was part of a request at %v", h.removed.Sub(w.began), r.at.Sub(w.began))
			}
		}
	}
	w.server.set(func() { w.server.requests = nil })
}

func (w *world) checkItem(i int, h *subject, watched bool) {
	now, term, losses := time.Now(), h.Term(), h.lost()
	switch {
	case watched && len(losses) > 0:
		w.complain("item %d is watched after it was lost", i)
	case watched && !now.Before(term.Deadline()):
		w.complain("item %d is watched %v after its deadline", i, now.Sub(term.Deadline()))
	case watched && !w.server.isGone(&h.Item) && !w.server.expires(&h.Item).After(now):
		w.complain("item %d trusts a lease that ended in Redis at %v", i, w.server.expires(&h.Item).Sub(w.began))
	case !watched && len(losses) != 1:
		w.complain("item %d is not watched, and Lost was called %d times", i, len(losses))
	}
	for _, l := range losses {
		w.judge(i, h, term, l)
	}
}

// judge asks whether a loss was due.
func (w *world) judge(i int, h *subject, term renew.Term, l loss) {
	switch {
	case errors.Is(l.why, renew.ErrGone) && !w.server.isGone(&h.Item):
		w.complain("item %d was lost as gone, and is not", i)
	case errors.Is(l.why, renew.ErrExpired) && !l.at.Equal(term.Deadline()):
		w.complain("item %d was lost %v after its deadline", i, l.at.Sub(term.Deadline()))
	case errors.Is(l.why, renew.ErrExpired) && term.Every > 0 && !w.up.IsZero() && l.at.Sub(w.up) > term.Lease/2:
		w.complain("item %d expired though the server has been well for %v", i, l.at.Sub(w.up))
	}
}

func (s *server) isGone(it *renew.Item) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.gone[it]
}
