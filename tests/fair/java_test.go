package fair_test

import (
	"fmt"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// java plays a Redisson client on the queue of a fair lock, by docs/wire-format.md, "Fair lock":
// it prunes a head whose deadline has passed, and takes its wait off all others when it
// acquires.
type java struct {
	t     *testing.T
	redis *miniredis.Miniredis
	wait  time.Duration
	moves int
}

const javaClient = "4e1b6b8e-6f3e-4b5a-9d4f-0a6a6b3b0f10"

func joinAsJava(s *stage.Stage, wait time.Duration) *java {
	return &java{t: s.T, redis: s.Memory.Miniredis(), wait: wait}
}

func (j *java) queue() []string {
	list, _, _ := fairKeys("job")
	if !j.redis.Exists(list) {
		return nil
	}
	return check.Must(j.redis.List(list))
}

// left is the time until a waiter's deadline.
func (j *java) left(owner string) time.Duration {
	_, deadlines, _ := fairKeys("job")
	return time.Until(time.UnixMilli(int64(check.Must(j.redis.ZScore(deadlines, owner)))))
}

// enqueue has one more thread wait.
func (j *java) enqueue() (owner string) {
	list, deadlines, _ := fairKeys("job")
	j.moves++
	owner = javaClient + ":" + strconv.Itoa(j.moves)
	base := j.redis.TTL("job")
	if queue := j.queue(); len(queue) > 0 {
		base = j.left(queue[len(queue)-1])
	}
	check.Must(j.redis.ZAdd(deadlines, float64(time.Now().Add(base+j.wait).UnixMilli()), owner))
	check.Must(j.redis.Push(list, owner))
	return owner
}

func (j *java) prune() {
	list, deadlines, _ := fairKeys("job")
	for queue := j.queue(); len(queue) > 0 && j.left(queue[0]) <= 0; queue = queue[1:] {
		check.Must(j.redis.Lpop(list))
		check.Must(j.redis.ZRem(deadlines, queue[0]))
	}
}

// visit has a thread take the lock, if it is its turn, and release it after a while.
func (j *java) visit(owner string, work time.Duration) bool {
	list, deadlines, _ := fairKeys("job")
	j.prune()
	if queue := j.queue(); j.redis.Exists("job") || len(queue) == 0 || queue[0] != owner {
		return false
	}
	check.Must(j.redis.Lpop(list))
	check.Must(j.redis.ZRem(deadlines, owner))
	for _, other := range j.queue() {
		at := check.Must(j.redis.ZScore(deadlines, other))
		check.Must(j.redis.ZAdd(deadlines, at-float64(j.wait.Milliseconds()), other))
	}
	j.redis.HSet("job", owner, "1")
	j.redis.SetTTL("job", 30*time.Second)
	for began := time.Now(); time.Since(began) < work; time.Sleep(10 * time.Millisecond) {
		j.redis.SetTTL("job", 30*time.Second) // its watchdog
	}
	j.redis.Del("job")
	j.prune()
	if queue := j.queue(); len(queue) > 0 {
		j.redis.Publish("redisson_lock__channel:{job}:"+queue[0], "0")
	}
	return true
}

// await is visit, when it is the thread's turn.
func (j *java) await(owner string, within, work time.Duration) {
	j.t.Helper()
	for began := time.Now(); time.Since(began) < within; time.Sleep(10 * time.Millisecond) {
		if j.visit(owner, work) {
			return
		}
	}
	j.t.Errorf("%s did not get its turn within %v; the queue is %v", owner, within, j.queue())
}

// TestLongAJavaWaiterKeepsItsPlaceAmongOurs has Java threads before, between and behind ours,
// and holds that are far longer than the deadlines.
func TestLongAJavaWaiterKeepsItsPlaceAmongOurs(t *testing.T) {
	t.Parallel()
	const slot = time.Minute
	stage.Story(t, redlatch.Config{FairWait: slot}, func(t *testing.T, s *stage.Stage) {
		j, m, other := joinAsJava(s, slot), s.Client.FairMutex("job"), s.Other(redlatch.Config{FairWait: slot})
		h := check.Must(m.Lock(t.Context()))
		served := make(chan string, 10)
		ours := func(name string, c *redlatch.Client, work time.Duration) {
			go func() {
				h := check.Must(c.FairMutex("job").Lock(t.Context()))
				served <- name
				time.Sleep(work)
				_ = h.Unlock(t.Context())
			}()
			synctest.Wait()
		}
		first := j.enqueue()
		time.Sleep(3 * slot) // nobody of ours waits yet
		ours("ours 1", s.Client, 3*slot)
		ours("ours 2", other, 3*slot)
		second := j.enqueue()
		third := j.enqueue()
		ours("ours 3", s.Client, 0)
		fourth := j.enqueue()
		for range 10 {
			time.Sleep(slot / 2)
			j.prune() // another Java process passes by
		}
		_ = h.Unlock(t.Context())
		j.await(first, time.Second, slot/2)
		for _, want := range []string{"ours 1", "ours 2"} {
			if got := <-served; got != want {
				t.Errorf("%s was served, want %s", got, want)
			}
		}
		j.await(second, 3*slot+time.Second, slot/2)
		j.await(third, time.Second, slot/2)
		if got := <-served; got != "ours 3" {
			t.Errorf("%s was served, want ours 3", got)
		}
		j.await(fourth, time.Second, 0)
		if keys := j.redis.Keys(); len(keys) != 0 {
			t.Errorf("left over: %v", keys)
		}
	})
}

// TestLongAJavaWaiterComesToTheHeadWithTimeToCome has one wait behind more of ours than a keep-alive
// looks at. They are served between two of them, long after its deadline.
func TestLongAJavaWaiterComesToTheHeadWithTimeToCome(t *testing.T) {
	t.Parallel()
	const slot = time.Minute
	stage.Story(t, redlatch.Config{FairWait: slot}, func(t *testing.T, s *stage.Stage) {
		j, m := joinAsJava(s, slot), s.Client.FairMutex("job")
		h := check.Must(m.Lock(t.Context()))
		var q turns
		for i := range 80 {
			q.wait(s, i, m)
			synctest.Wait()
		}
		first, second := j.enqueue(), j.enqueue()
		time.Sleep(5 * slot)
		_ = h.Unlock(t.Context())
		q.inOrder(t, 80)
		j.await(first, time.Second, 5*time.Millisecond)
		j.await(second, time.Second, 5*time.Millisecond)
	})
}

// TestADeadJavaWaiterBlocksForTenSecondsAtMost puts threads that never come before, between
// and behind ours, whatever their deadlines say.
func TestADeadJavaWaiterBlocksForTenSecondsAtMost(t *testing.T) {
	const slot = time.Minute
	for _, far := range []time.Duration{10 * time.Second, slot, time.Hour} {
		t.Run(fmt.Sprint("deadline in ", far), func(t *testing.T) {
			stage.Story(t, redlatch.Config{FairWait: slot}, func(t *testing.T, s *stage.Stage) {
				j, m := joinAsJava(s, far), s.Client.FairMutex("job")
				h := check.Must(m.Lock(t.Context()))
				j.enqueue()
				var q turns
				q.wait(s, 1, m)
				synctest.Wait()
				j.enqueue()
				q.wait(s, 2, s.Other(redlatch.Config{FairWait: slot}).FairMutex("job"))
				synctest.Wait()
				j.enqueue()
				time.Sleep(2 * time.Second)
				_ = h.Unlock(t.Context())
				began := time.Now()
				q.inOrder(t, 2)
				// Two of them stood before the last of ours.
				check.Within(t, "time until ours were served", time.Since(began), 0, 2*13*time.Second)
				began = time.Now()
				_ = check.Must(m.Lock(t.Context())).Unlock(t.Context())
				check.Within(t, "time until the next was served", time.Since(began), 0, 13*time.Second)
			})
		})
	}
}

// TestLongJavaThreadsThatAcquireDoNotAgeOursOut has many of them before ours, which take their
// wait off our deadline one after the other, faster than our
// keep-alives come. Old Redissons take off five minutes, whatever Config.FairWait is.
func TestLongJavaThreadsThatAcquireDoNotAgeOursOut(t *testing.T) {
	t.Parallel()
	const slot = time.Minute
	stage.Story(t, redlatch.Config{FairWait: slot}, func(t *testing.T, s *stage.Stage) {
		j, m := joinAsJava(s, 5*time.Minute), s.Client.FairMutex("job")
		h := check.Must(m.Lock(t.Context()))
		var threads []string
		for range 5 {
			threads = append(threads, j.enqueue())
		}
		var q turns
		q.wait(s, 1, m)
		time.Sleep(30 * time.Minute)
		_ = h.Unlock(t.Context())
		_, deadlines, _ := fairKeys("job")
		ours := j.queue()[len(threads)]
		for _, owner := range threads {
			j.await(owner, time.Second, 5*time.Millisecond)
			if at, err := j.redis.ZScore(deadlines, ours); err == nil && at <= float64(time.Now().UnixMilli()) {
				t.Error("a Java peer would take ours for dead")
			}
		}
		q.inOrder(t, 1)
	})
}

// TestFairDeadlinesNeverRunAway has Java threads and ours queue in turn, again and again.
func TestFairDeadlinesNeverRunAway(t *testing.T) {
	t.Parallel()
	const slot = 5 * time.Minute
	stage.Story(t, redlatch.Config{FairWait: slot}, func(t *testing.T, s *stage.Stage) {
		j, m := joinAsJava(s, slot), s.Client.FairMutex("job")
		h := check.Must(m.Lock(t.Context()))
		var q turns
		for i := range 60 {
			j.enqueue()
			q.wait(s, i, m, redlatch.WithWait(24*time.Hour))
			synctest.Wait()
		}
		for _, owner := range j.queue() {
			check.Within(t, "what "+owner+" has left", j.left(owner), 0, 30*time.Second+17*slot)
		}
		s.Memory.Miniredis().FlushAll()
		q.all.Wait()
		_ = h.Unlock(t.Context())
	})
}
