package main

import (
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/redistest"
)

// Goal: the lost update shows without the lock, and never with it. Method: two
// instances of the service sell a hundred units to a hundred customers at once, in each
// of the two ways.
func TestAHundredCustomersAtOnce(t *testing.T) {
	eachServer(t, func(t *testing.T, redis string) {
		const customers = 100
		shops := []*app{start(t, "--redis", redis), start(t, "--redis", redis)}
		item := redistest.Name(t)
		full := shops[0].ask("PUT", pathStock+item+"?units=100")
		if full.code != 200 || full.WithLock != customers || full.WithoutLock != customers {
			t.Fatalf("the stock is %+v", full)
		}

		with := sell(t, shops, pathWith+item, customers)
		for left, times := range with {
			if times != 1 {
				t.Errorf("with the lock, %d customers were told that %d are left", times, left)
			}
		}
		without := sell(t, shops, pathWithout+item, customers)
		left := shops[1].ask("GET", pathStock+item)
		if left.WithLock != 0 || left.Selling {
			t.Errorf("with the lock, the stock is %+v after all units were sold", left)
		}
		if left.WithoutLock == 0 || len(without) == customers {
			t.Errorf("without the lock, no update was lost: %+v", left)
		}
		t.Logf("without the lock, %d of %d sales were forgotten", left.WithoutLock, customers)

		shops[0].ask("POST", pathWith+item).is(t, "one more sale", 409, "sold_out")
	})
}

// sell sends the customers, all at once, to the shops by turns. It returns how many of
// them got each number of units left.
func sell(t *testing.T, shops []*app, path string, customers int) map[int]int {
	t.Helper()
	var answers []<-chan answer
	for i := range customers {
		answers = append(answers, shops[i%len(shops)].begin("POST", path))
	}
	told := map[int]int{}
	for _, later := range answers {
		got := <-later
		if got.code != 200 {
			t.Errorf("a sale failed: %+v", got)
		}
		told[got.Left]++
	}
	return told
}

func TestFillingTheStockDoesNotWaitForASale(t *testing.T) {
	eachServer(t, func(t *testing.T, redis string) {
		a := start(t, "--redis", redis, "--delay", "10s", "--lease", "20s")
		item := redistest.Name(t)
		if got := a.ask("PUT", pathStock+item+"?units=1"); got.code != 200 {
			t.Fatalf("it answered %+v", got)
		}
		_ = a.begin("POST", pathWith+item)
		redistest.Eventually(t, 10*time.Second, func() bool { return a.ask("GET", pathStock+item).Selling }, "the sale is under way")
		a.ask("PUT", pathStock+item+"?units=5").is(t, "filling", 423, "not_acquired")
		if got := a.ask("GET", pathStock+item); got.WithLock != 1 || got.WithoutLock != 1 {
			t.Errorf("the stock is %+v", got)
		}
	})
}

// Goal: a sale whose lease ended writes nothing. Method: the work takes longer than the
// lease.
func TestASaleThatLostItsLockDoesNotHappen(t *testing.T) {
	eachServer(t, func(t *testing.T, redis string) {
		a := start(t, "--redis", redis, "--delay", "10s", "--lease", "200ms")
		item := redistest.Name(t)
		a.ask("PUT", pathStock+item+"?units=7")
		a.ask("POST", pathWith+item).is(t, "the sale", 409, "lost")
		var got answer
		redistest.Eventually(t, 10*time.Second, func() bool { // the memory driver says what may fail at the end of a lease
			got = a.ask("GET", pathStock+item)
			return got.code == 200
		}, "the stock is shown")
		if got.WithLock != 7 {
			t.Errorf("the stock is %+v", got)
		}
	})
}
