package histories

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/embedded"
)

// spoiled is a connection whose calls a test holds up in fake time.
type spoiled struct{ *embedded.Spoiled }

func (spoiled) CommandTimeout() time.Duration { return time.Minute }

// Goal: a history is possible in which a permit is taken for a waiter that gives up, and is put back. Method: a look
// while the reply to the request for two waiters is late.
func TestAPermitOfAWaiterThatGaveUpIsSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		d, err := embedded.OpenSpoiled(ctx)
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		wire := &Wire{Bounded: spoiled{d}}
		waiting, err := redlatch.New(wire, redlatch.Config{})
		if err != nil {
			t.Fatal(err)
		}
		defer waiting.Close(ctx)
		other, err := redlatch.New(d.Driver, redlatch.Config{})
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close(ctx)
		r, job, mine := NewRecorder(), other.Semaphore("job"), waiting.Semaphore("job")
		go r.Sharer(1, []*Wire{wire}, mine).Wait(ctx, 1)
		synctest.Wait()
		hasty, giveUp := context.WithTimeout(ctx, time.Second/2)
		defer giveUp()
		go r.Sharer(2, []*Wire{wire}, mine).Wait(hasty, 1)
		synctest.Wait()
		d.Spoil(func(_ context.Context, words []string, send func() driver.Reply) driver.Reply {
			if strings.HasPrefix(words[0], "EVAL") {
				defer time.Sleep(time.Second)
			}
			return send()
		})
		r.Resize(ctx, 0, "job", 2, job.AddPermits)
		for _, want := range []int{0, 1} { // when one has given up, and after the reply
			time.Sleep(700 * time.Millisecond)
			if n, err := job.Available(ctx); n != want || err != nil {
				t.Errorf("%d permits are available, %v; want %d", n, err, want)
			}
			r.LookFor(ctx, 0, "job", job.Available)
		}
		if v := Check(r.Operations(), time.Minute); len(v.Wrong)+len(v.Open) > 0 {
			t.Errorf("%+v\n%s", v, v.Story)
		}
	})
}
