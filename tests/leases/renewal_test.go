package leases_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

func TestAHoldIsRenewedEveryThirdOfItsLeaseUntilItIsReleased(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		h := check.Must(s.Client.Mutex("job").Lock(t.Context()))
		for range 20 { // 200 s, more than six leases
			time.Sleep(9900 * time.Millisecond)
			check.Within(t, "TTL before the renewal", s.TTL("job"), 20*time.Second, 20200*time.Millisecond)
			time.Sleep(100 * time.Millisecond)
			synctest.Wait()
			check.Within(t, "TTL after the renewal", s.TTL("job"), 29900*time.Millisecond, 30*time.Second)
			if !h.Valid() {
				t.Fatal("hold ended:", h.Err())
			}
		}
		if err := h.Unlock(t.Context()); err != nil {
			t.Fatal(err)
		}
		renewals, sent := s.Client.Stats().Renewals, s.Driver.Scripts.Load()
		check.Within(t, "renewals", renewals, 20, 21)
		time.Sleep(time.Minute)
		if got := s.Client.Stats().Renewals; got != renewals {
			t.Errorf("%d renewals after the release", got-renewals)
		}
		if n := s.Driver.Scripts.Load() - sent; n != 0 {
			t.Errorf("%d scripts were sent after the release", n)
		}
		if s.Memory.Miniredis().Exists("job") {
			t.Error("the key is still there")
		}
	})
}

func TestAFixedLeaseIsNeverRenewedAndEndsBeforeItsKey(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		h := check.Must(s.Client.Mutex("job").Lock(t.Context(), redlatch.WithLease(10*time.Second)))
		began := time.Now()
		<-h.Done()
		held := time.Since(began)
		check.Within(t, "time held", held, 9800*time.Millisecond, 9999*time.Millisecond)
		if !s.Memory.Miniredis().Exists("job") {
			t.Error("the key was gone before the hold ended")
		}
		if !errors.Is(h.Err(), redlatch.ErrLost) {
			t.Errorf("Err is %v, want ErrLost", h.Err())
		}
		if cause := context.Cause(h.Context()); !errors.Is(cause, redlatch.ErrLost) {
			t.Errorf("the cause of the context is %v, want ErrLost", cause)
		}
		if err := h.Unlock(t.Context()); !errors.Is(err, redlatch.ErrLost) {
			t.Errorf("Unlock is %v, want ErrLost", err)
		}
		if err := h.Unlock(t.Context()); err != nil {
			t.Errorf("the second Unlock is %v, want nil", err)
		}
		if n := s.Client.Stats().Renewals; n != 0 {
			t.Errorf("%d renewals of a fixed lease", n)
		}
	})
}

func TestAKeyOfSomebodyElseIsNeverProlonged(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		h := check.Must(s.Client.Mutex("job").Lock(t.Context()))
		m := s.Memory.Miniredis()
		m.Del("job")
		m.HSet("job", "somebody:1", "1")
		m.SetTTL("job", time.Minute)
		time.Sleep(30 * time.Second)
		synctest.Wait()
		check.Within(t, "TTL of the other's key", s.TTL("job"), 30*time.Second, 30*time.Second)
		if !errors.Is(h.Err(), redlatch.ErrLost) {
			t.Errorf("Err is %v, want ErrLost", h.Err())
		}
	})
}
