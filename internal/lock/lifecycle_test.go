package lock

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
)

// Goal: a group of several locks may end at any time, also while the client of one of its members
// closes. It then has that manager stop renewals, outside of any operation that Close waits for.
// Method: short work begins over and over until the manager has closed, so that there often is none
// for a moment.
func TestWorkBeginsWhileCloseWaitsForWork(t *testing.T) {
	d, manager := inProcess(t)
	defer d.Close()
	for range 500 {
		m := manager()
		closed := make(chan error)
		go func() { closed <- m.Close(context.Background()) }()
		begun := 0
		for open := true; open; {
			select {
			case err := <-closed:
				if open = false; err != nil {
					t.Fatal(err)
				}
			default:
				m.Go(func() {})
				if begun++; begun%100 == 0 {
					runtime.Gosched() // so that Close has an end
				}
			}
		}
	}
}

// Goal: Close waits for all work that has begun before.
func TestCloseWaitsForWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, manager := inProcess(t)
		defer d.Close()
		m := manager()
		first, second := make(chan struct{}), make(chan struct{})
		m.Go(func() { <-first })
		m.Go(func() { <-second })
		closed := make(chan error, 1)
		go func() { closed <- m.Close(context.Background()) }()
		for _, work := range []chan struct{}{first, second} {
			synctest.Wait()
			if len(closed) > 0 {
				t.Error("Close did not wait")
			}
			close(work)
		}
		if err := <-closed; err != nil {
			t.Error(err)
		}
	})
}
