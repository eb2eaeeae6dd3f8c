package waitqueue_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/waitqueue"
)

func isText(value any) bool   { _, is := value.(string); return is }
func isNumber(value any) bool { _, is := value.(int); return is }

// Goal: Oldest names those who wait for longest, in all queues, and nobody who only watches, waits for
// something else or has left.
func TestTheOldestWaitersAreNamedFirst(t *testing.T) {
	bubble(t, func(t *testing.T, h *waitqueue.Hub, _ *station) {
		began := time.Now()
		join := func(queue string, value any) *waitqueue.Waiter {
			time.Sleep(time.Second)
			return h.Join(queue, value, false)
		}
		names := func(limit int, before time.Time) (all string) {
			for _, w := range h.Oldest(limit, before, isText) {
				all += fmt.Sprint(w.Value, "@", w.Since().Sub(began), " ")
			}
			return all
		}
		if got := names(9, time.Now()); got != "" {
			t.Errorf("without a waiter: %s", got)
		}
		join("b", "one")
		join("a", "two")
		left := join("a", "left")
		join("b", nil)
		join("d", 4)
		join("a", "three")
		join("c", "young")
		left.Leave()
		for _, c := range []struct {
			limit int
			age   time.Duration
			want  string
		}{
			{9, time.Millisecond, "one@1s two@2s three@6s "},
			{9, 2 * time.Second, "one@1s two@2s "},
			{2, time.Millisecond, "one@1s two@2s "},
			{9, time.Hour, ""},
		} {
			if got := names(c.limit, time.Now().Add(-c.age)); got != c.want {
				t.Errorf("%d that are older than %v: %q, want %q", c.limit, c.age, got, c.want)
			}
		}
		for i := range 10_000 {
			h.Join(fmt.Sprint("many", i), i, false)
		}
		if got := len(h.Oldest(9000, time.Now().Add(time.Second), isNumber)); got < 4000 || got > 4200 {
			t.Errorf("of very many waiters %d are looked at", got)
		}
	})
}
