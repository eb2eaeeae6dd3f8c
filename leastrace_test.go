package redlatch_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
)

// Interleavings of least times, extensions and shutdowns.

// tardy answers those commands that match only after a while. They are carried out before that, or after.
func tardy(after bool, delay time.Duration, match func(words []string) bool) around {
	return func(commands []driver.Command, send sender) []driver.Reply {
		if !slices.ContainsFunc(commands, func(c driver.Command) bool { return match(c.Words) }) {
			return send(commands...)
		}
		if after {
			time.Sleep(delay)
			return send(commands...)
		}
		replies := send(commands...)
		time.Sleep(delay)
		return replies
	}
}

// Goal: replicas that do not confirm a re-entry leave the least time of the outer hold as it is.
func TestAReentryThatIsNotReplicatedKeepsTheLeastTime(t *testing.T) {
	t.Parallel()
	story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
		ctx := s.client.WithOwner(context.Background())
		outer := must(s.client.Mutex("job").Lock(ctx, redlatch.WithMinHold(time.Minute)))
		_, err := s.client.Mutex("job").Lock(ctx, redlatch.WithReplicas(1, time.Second))
		is(t, "the re-entry", err, redlatch.ErrNotReplicated)
		is(t, "Unlock", outer.Unlock(ctx), nil)
		within(t, "the TTL", s.ttl("job"), 55*time.Second, 61*time.Second)
	})
}

// Goal: an extension that comes behind the release prolongs nothing. Method: its request arrives late.
func TestAnExtensionBehindAReleaseWithALeastTime(t *testing.T) {
	t.Parallel()
	story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
		tap := s.tap()
		h := must(s.client.Mutex("job").Lock(context.Background(), redlatch.WithLease(time.Minute), redlatch.WithMinHold(10*time.Second)))
		tap.set(tardy(true, time.Second, func(words []string) bool { return slices.Contains(words, "3600000") }))
		extended := make(chan error, 1)
		go func() { extended <- h.Extend(context.Background(), time.Hour) }()
		synctest.Wait()
		is(t, "Unlock", h.Unlock(context.Background()), nil)
		within(t, "the TTL", s.ttl("job"), 9*time.Second, 11*time.Second)
		is(t, "Extend", <-extended, redlatch.ErrReleased)
		synctest.Wait()
		within(t, "the TTL after the extension", s.ttl("job"), 8*time.Second, 11*time.Second)
	})
}

// Goal: a re-entry whose reply comes after the release does not end the least time.
func TestALateReentryKeepsTheLeastTime(t *testing.T) {
	t.Parallel()
	story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
		tap := s.tap()
		ctx := s.client.WithOwner(context.Background())
		outer := must(s.client.Mutex("job").Lock(ctx, redlatch.WithMinHold(time.Minute)))
		inner := make(chan error, 1)
		tap.set(tardy(false, 2500*time.Millisecond, func(words []string) bool { return slices.Contains(words, "2") }))
		go func() { _, err := s.client.Mutex("job").Lock(ctx); inner <- err }()
		synctest.Wait()
		is(t, "Unlock", outer.Unlock(ctx), nil)
		is(t, "the re-entry", <-inner, redlatch.ErrLost)
		time.Sleep(time.Second)
		if left := s.ttl("job"); left < 50*time.Second {
			t.Errorf("4 s of 60 s after the grant the lock is left for %v", left)
		}
	})
}

// Goal: an extension that is answered after the deadline does not free the lock before its least time.
func TestALateExtensionKeepsTheLeastTime(t *testing.T) {
	t.Parallel()
	story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
		tap := s.tap()
		h, began := must(s.client.Mutex("job").Lock(context.Background(), redlatch.WithLease(time.Hour), redlatch.WithMinHold(time.Hour))), time.Now()
		time.Sleep(time.Until(h.Deadline()) - time.Second)
		tap.set(tardy(false, 2*time.Second, func(words []string) bool { return slices.Contains(words, "7200000") }))
		is(t, "Extend", h.Extend(context.Background(), 2*time.Hour), redlatch.ErrLost)
		time.Sleep(time.Second)
		if other, err := s.stranger().Mutex("job").TryLock(context.Background()); err == nil {
			t.Errorf("a stranger has the lock %v after the grant", time.Since(began))
			_ = other.Unlock(context.Background())
		}
	})
}

// Goal: the cohort does not pass on a lock whose least time is not over.
func TestACohortKeepsTheLeastTimeOfAReentry(t *testing.T) {
	t.Parallel()
	story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
		m, cohort := s.client.Mutex("job"), redlatch.WithCohort(time.Minute)
		ctx := s.client.WithOwner(context.Background())
		turn := must(m.Lock(ctx, cohort))
		inner, began := must(m.Lock(ctx, redlatch.WithMinHold(30*time.Second))), time.Now()
		is(t, "Unlock", errors.Join(inner.Unlock(ctx), turn.Unlock(ctx)), nil)
		next := must(m.Lock(s.limited(), cohort))
		within(t, "the next enters after", time.Since(began), 30*time.Second, 40*time.Second)
		is(t, "Unlock", next.Unlock(context.Background()), nil)
	})
}

// Goal: Shutdown cancels every wait, at once, and nothing is acquired afterwards.
func TestShutdownEndsWaitsAtOnce(t *testing.T) {
	t.Parallel()
	for _, where := range []string{"elsewhere", "here"} {
		for _, release := range []bool{false, true} {
			for side, of := range sides {
				if side == "read" {
					continue
				}
				t.Run(where+"/"+side, func(t *testing.T) {
					story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
						holder := s.stranger()
						if where == "here" {
							holder = s.client
						}
						h := must(of(holder).Lock(context.Background()))
						waited := make(chan error, 1)
						go func() {
							next, err := of(s.client).Lock(context.Background())
							waited <- err
							if err == nil {
								_ = next.Unlock(context.Background())
							}
						}()
						time.Sleep(time.Second)
						done := make(chan error, 1)
						began := time.Now()
						ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
						defer cancel()
						var keep *redlatch.Hold
						if where == "elsewhere" {
							keep = must(s.client.Mutex("other").Lock(context.Background()))
						}
						go func() { done <- s.client.Shutdown(ctx) }()
						synctest.Wait()
						if release {
							_ = h.Unlock(context.Background())
						}
						is(t, "the wait", <-waited, redlatch.ErrClosed)
						within(t, "the wait ended after", time.Since(began), 0, time.Second)
						_ = h.Unlock(context.Background())
						if keep != nil {
							_ = keep.Unlock(context.Background())
						}
						is(t, "Shutdown", <-done, nil)
					})
				})
			}
		}
	}
}

// A caller that has gone while the client closes: its lock has no least time.
func TestACallerThatHasGoneWhileItsClientClosesLeavesNoLeastTime(t *testing.T) {
	story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
		tap := s.tap()
		h := must(s.client.Mutex("job").Lock(context.Background()))
		waited := make(chan error, 1)
		ctx, cancel := context.WithCancel(context.Background())
		go func() { _, err := s.client.Mutex("job").Lock(ctx, redlatch.WithMinHold(time.Minute)); waited <- err }()
		time.Sleep(time.Second)
		tap.set(func(commands []driver.Command, send sender) []driver.Reply {
			r := send(commands...)
			time.Sleep(time.Second)
			return r
		})
		go func() { _ = h.Unlock(context.Background()) }()
		synctest.Wait()
		cancel()
		synctest.Wait()
		_ = s.client.Close(context.Background())
		is(t, "the wait", <-waited, context.Canceled)
		if left := s.ttl("job"); left > 0 {
			t.Errorf("the lock of nobody stays for %v", left)
		}
	})
}

func TestShutdownEndsWaitsOfManyKindsAtOnce(t *testing.T) {
	for what, of := range map[string]func(c *redlatch.Client) redlatch.Lock{
		"multi": func(c *redlatch.Client) redlatch.Lock { return redlatch.NewMulti(c.Mutex("a"), c.Mutex("job")) },
		"multirw": func(c *redlatch.Client) redlatch.Lock {
			return redlatch.NewMulti(c.RWMutex("a").Locker(), c.Mutex("job"))
		},
		"quorum": func(c *redlatch.Client) redlatch.Lock { return redlatch.NewQuorum(c.Mutex("job")) },
		"cohort": func(c *redlatch.Client) redlatch.Lock { return c.Mutex("job") },
		"fair":   func(c *redlatch.Client) redlatch.Lock { return c.FairMutex("job") },
	} {
		for _, owned := range []bool{false, true} {
			t.Run(what, func(t *testing.T) {
				story(t, redlatch.Config{RestartDelay: -1}, func(t *testing.T, s *stage) {
					h := must(s.stranger().Mutex("job").Lock(context.Background()))
					keep := must(s.client.Mutex("keep").Lock(context.Background()))
					waited := make(chan error, 3)
					ctx := context.Background()
					if owned {
						ctx = s.client.WithOwner(ctx)
					}
					for range 3 {
						go func() {
							var opts []redlatch.LockOption
							if what == "cohort" {
								opts = append(opts, redlatch.WithCohort(time.Second))
							}
							_, err := of(s.client).Lock(ctx, opts...)
							waited <- err
						}()
					}
					time.Sleep(7 * time.Second)
					began := time.Now()
					done := make(chan error, 1)
					go func() { done <- s.client.Shutdown(context.Background()) }()
					for range 3 {
						is(t, "the wait", <-waited, redlatch.ErrClosed)
					}
					within(t, what+" ended after", time.Since(began), 0, time.Second)
					is(t, "Unlock", errors.Join(h.Unlock(context.Background()), keep.Unlock(context.Background())), nil)
					is(t, "Shutdown", <-done, nil)
				})
			})
		}
	}
}
