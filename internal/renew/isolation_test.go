package renew_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/internal/renew"
)

// What goes wrong for some items and not for others.

// Goal: one lock that the server refuses to renew (its user lost the right to the key,
// its slot is on the move) does not cost the others anything.
func TestOneAnswerWithAnErrorCostsTheOthersNothing(t *testing.T) {
	bubble(t, func(t *testing.T, s *server, e *renew.Engine) {
		all := many(e, 250, 0)
		spoiler := newHolder()
		s.refused[&spoiler.Item] = true
		e.Set(&spoiler.Item, term(30*second))
		began, deadline := time.Now(), spoiler.Term().Deadline()
		time.Sleep(55 * second)
		wantLoss(t, spoiler, renew.ErrExpired, deadline)
		lost, asked := 0, 0
		for _, h := range all {
			lost += len(h.lost())
			asked = max(asked, len(s.moments(began, &h.Item)))
		}
		if got := e.Counts(); lost > 0 || asked > 5 || got.Late > 0 || got.Renewals != 5*250 {
			t.Errorf("%d of %d others were lost, one was asked for %d times; %+v", lost, len(all), asked, got)
		}
	})
}

// Goal: what hangs for one batch does not hold up others. Method: a request with one certain
// item in it is never answered.
func TestABatchThatHangsDoesNotHoldUpTheOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		stuck, mates := newHolder(), newMates()
		e := start(t, func(ctx context.Context, batch []renew.Renewal) []renew.Answer {
			if !mates.meet(batch, &stuck.Item) {
				return s.renew(ctx, batch)
			}
			<-ctx.Done()
			return same(batch, renew.Answer{Err: ctx.Err()})
		})
		began := time.Now()
		e.Set(&stuck.Item, term(30*second))
		all := many(e, 3*batchSize-1, 0)
		time.Sleep(55 * second)
		healthy := 0
		for _, h := range all {
			if mates.has(&h.Item) {
				continue
			}
			healthy++
			wantRhythm(t, h, s.moments(began, &h.Item))
		}
		if healthy < 2*batchSize {
			t.Errorf("only %d of %d were never in a request with it", healthy, len(all))
		}
	})
}

// A server that hangs does not hold up the items of others.
func TestAServerThatHangsDoesNotHoldUpTheItemsOfAnother(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		good, bad := newServer(), newServer()
		bad.hanging = true
		e := start(t, func(ctx context.Context, batch []renew.Renewal) []renew.Answer {
			if slices.ContainsFunc(batch, func(r renew.Renewal) bool { return r.Item.Subject.(onShard).shard == "bad" }) {
				return bad.renew(ctx, batch)
			}
			return good.renew(ctx, batch)
		})
		var healthy []*holder
		for i := range batchSize {
			h := newHolder()
			if h.Subject = (onShard{h, "bad"}); i%2 == 0 {
				h.Subject = onShard{h, "good"}
				healthy = append(healthy, h)
			}
			e.Set(&h.Item, term(30*second))
		}
		began := time.Now()
		time.Sleep(55 * second)
		for _, h := range healthy {
			wantRhythm(t, h, good.moments(began, &h.Item))
		}
	})
}

// wantRhythm fails unless an item was renewed every 10 s for 55 s, or a little earlier, together
// with others.
func wantRhythm(t *testing.T, h *holder, moments []time.Duration) {
	t.Helper()
	wantNoLoss(t, h)
	last := time.Duration(0)
	for _, at := range append(slices.Clone(moments), 55*second) {
		if at-last > 10*second {
			t.Fatalf("renewed at %v", moments)
		}
		last = at
	}
}

// onShard is a holder whose lease is on a certain server.
type onShard struct {
	*holder
	shard string
}

func (s onShard) Shard() string { return s.shard }

// mates are the items that were in one request with a certain other.
type mates struct {
	mu    sync.Mutex
	items map[*renew.Item]bool
}

func newMates() *mates { return &mates{items: make(map[*renew.Item]bool)} }

// meet says whether an item is part of a batch, and notes the others that are.
func (m *mates) meet(batch []renew.Renewal, it *renew.Item) bool {
	if !slices.ContainsFunc(batch, func(r renew.Renewal) bool { return r.Item == it }) {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range batch {
		m.items[r.Item] = true
	}
	return true
}

func (m *mates) has(it *renew.Item) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.items[it]
}
