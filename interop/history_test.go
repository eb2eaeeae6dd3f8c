//go:build interop

package interop_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/redistest"
)

const (
	seedEnv    = "REDLATCH_INTEROP_SEED"    // repeats a plan
	secondsEnv = "REDLATCH_INTEROP_SECONDS" // how long each random history goes on
)

// atOnce bounds how many histories play at a time: each of them has two JVMs at work.
var atOnce = make(chan struct{}, 3)

// contestWithin is for how long a history goes on at the most until there was a contest.
const contestWithin = time.Minute

// historyWatchdog is what a killed process blocks a lock for at the most.
const historyWatchdog = 3 * time.Second

// seedOf is the seed of a random test, which it logs.
func seedOf(t testing.TB) uint64 {
	t.Helper()
	seed := rand.Uint64()
	if text := os.Getenv(seedEnv); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("%s: %v", seedEnv, err)
		}
	}
	t.Logf("repeat the plan with %s=%d", seedEnv, seed)
	return seed
}

// length is how long a history goes on. Default: 10s with the newest release, 5s with older ones.
func length(t testing.TB, r rig) time.Duration {
	t.Helper()
	if text := os.Getenv(secondsEnv); text != "" {
		seconds, err := strconv.Atoi(text)
		if err != nil || seconds < 1 {
			t.Fatalf("%s is %q, not a number of seconds", secondsEnv, text)
		}
		return time.Duration(seconds) * time.Second
	}
	if r.newest(t) {
		return 10 * time.Second
	}
	return 5 * time.Second
}

// Goal: whatever both libraries do at the same time, and whoever is killed, nobody overlaps
// and nothing is left. Method: two probes and two processes of ours with eight threads
// each do random bouts of verbs on one lock, and note when they had it.
func histories(t *testing.T, r rig) {
	t.Parallel()
	seed := seedOf(t)
	for i, kind := range []string{"mutex", "rw", "fair", "multi", "fenced", "spin"} {
		if !r.has(t, kind) {
			continue
		}
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			name := redistest.Name(t)
			h := &history{kind: kind, name: name, locks: []string{name}, seed: seed + uint64(i), stays: map[string][]stay{}, keeps: kind == "spin" && r.before(t, 3, 27)}
			if kind == "multi" {
				h.locks = append(members(triple(name)), name+":4", name+":5", name+":6")
			}
			h.playAll(t, r)
			h.check(t, r) // mostly waits, so others may play meanwhile
		})
	}
}

// playAll starts the team and lets it play.
func (h *history) playAll(t *testing.T, r rig) {
	atOnce <- struct{}{}
	defer func() { <-atOnce }()
	h.team = []*member{
		newMember(t, r.theirs.language(), func() *process { return r.start(t) }),
		newMember(t, r.theirs.language(), func() *process { return r.start(t) }),
		newMember(t, r.latch.language(), func() *process { return startLatches(t) }),
		newMember(t, r.latch.language(), func() *process { return startLatches(t) }),
	}
	h.run(t, length(t, r))
}

// member is a process of a history, with one client. A killed one gets a successor.
type member struct {
	language string
	start    func() *process

	mu    sync.Mutex
	actor actor
}

func newMember(t *testing.T, language string, start func() *process) *member {
	m := &member{language: language, start: start}
	m.succeed(t)
	return m
}

// succeed starts the process.
func (m *member) succeed(t testing.TB) {
	t.Helper()
	p := m.start()
	a := actor{p, fmt.Sprint("client", clientNumber.Add(1)), 1}
	got := a.do(t, command{
		Verb: "open", Address: redistest.Shared(t).URL(),
		Watchdog: historyWatchdog.Milliseconds(), FairWait: (10 * time.Second).Milliseconds(),
	})
	if !got.OK {
		t.Errorf("open a client in %s: %s", p.language(), got.Error)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.actor = a
}

func (m *member) current() actor {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.actor
}

// history is one random history.
type history struct {
	kind, name string
	locks      []string // whose names begin with that one
	keeps      bool     // see bout.waits
	seed       uint64
	team       []*member

	end    time.Time // and later if there was no contest by then, but not after latest
	latest time.Time
	over   chan struct{}
	kills  atomic.Int64
	denied atomic.Int64

	mu       sync.Mutex
	stays    map[string][]stay // by lock
	done     [4]int            // sections by member
	last     string            // the language of the last section
	passed   int               // sections after one of the other language
	troubles []string
	pending  map[actor]command // that have no answer yet
}

const threads = 8

// threadsOf is how many threads of a member play. A dead waiter of another library at the
// head keeps a fair lock from everybody for 10 s. A killed process leaves one for each thread,
// so few threads keep a fair history from standing still for minutes.
func (h *history) threadsOf(m *member) int {
	if h.kind == "fair" && m.language != "Go" {
		return 3
	}
	return threads
}

// run lets all threads play until the time is over.
func (h *history) run(t *testing.T, length time.Duration) {
	h.end, h.latest, h.over = time.Now().Add(length), time.Now().Add(length+contestWithin), make(chan struct{})
	var players, reaper sync.WaitGroup
	for m := range h.team {
		for thread := range h.threadsOf(h.team[m]) {
			players.Go(func() { h.play(m, thread+1) })
		}
	}
	reaper.Go(func() { h.reap(t, length) })
	all := make(chan struct{})
	go func() { players.Wait(); close(all) }()
	select {
	case <-all:
	case <-time.After(length + contestWithin + patience):
		h.trouble("the history does not end: somebody waits for ever: %v", h.unended())
		for _, lock := range h.locks {
			h.trouble("%s is %s, for %v ms", lock, content(t, "hash", lock), redistest.Shared(t).CLI(t, "PTTL", lock))
		}
		for _, m := range h.team {
			m.current().peer.(*process).kill()
		}
		<-all
	}
	close(h.over)
	reaper.Wait()
}

// reap kills a random member now and then, and starts its successor. In a fair history it
// kills a process of the other library last and only once: see threadsOf. Its waiters are then
// left in the queue at the end, and ours alone have to pass over them.
func (h *history) reap(t *testing.T, length time.Duration) {
	random := rand.New(rand.NewPCG(h.seed, 1<<32))
	kills := max(1, int(length/(8*time.Second)))
	for i := range kills {
		pause := length / time.Duration(kills+1)
		select {
		case <-time.After(pause/2 + rand.N(pause)): // the plan decides who, the clock when
		case <-h.over:
			return
		}
		mortal := h.team
		if h.kind == "fair" {
			mortal = slices.DeleteFunc(slices.Clone(h.team), func(m *member) bool { return (m.language == "Go") == (i == kills-1) })
		}
		m := mortal[random.IntN(len(mortal))]
		m.current().peer.(*process).kill()
		h.kills.Add(1)
		t.Logf("killed one of %s", m.language)
		m.succeed(t)
	}
}

// play is one thread: bouts of verbs, decided by the seed alone.
func (h *history) play(m, thread int) {
	random := rand.New(rand.NewPCG(h.seed, uint64(m*threads+thread)))
	for n := 0; h.goesOn(); n++ {
		a := h.team[m].current()
		b := &bout{h: h, random: random, actor: a.thread(thread), member: m, name: h.name}
		switch h.kind {
		case "rw":
			b.readWrite()
		case "multi":
			b.several()
		default:
			b.exclusive(h.kind)
		}
		for b.died && h.goesOn() {
			if h.team[m].current() != a {
				break
			}
			time.Sleep(10 * time.Millisecond) // until the successor is there
		}
	}
}

// goesOn says that it is not over yet. It goes on for longer until there was a contest: a JVM that
// has just begun to run is slow.
func (h *history) goesOn() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	return now.Before(h.end) || now.Before(h.latest) && h.passed < contested
}

// note notes a section of a member.
func (h *history) note(member int, locks []string, s stay) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, lock := range locks {
		h.stays[lock] = append(h.stays[lock], s)
	}
	h.done[member]++
	if language := h.team[member].language; language != h.last {
		if h.last != "" {
			h.passed++
		}
		h.last = language
	}
}

// ask runs a command, and keeps it in pending until its answer is there.
func (h *history) ask(a actor, c command) answer {
	h.mu.Lock()
	if h.pending == nil {
		h.pending = make(map[actor]command)
	}
	h.pending[a] = c
	h.mu.Unlock()
	got := <-a.start(c)
	h.mu.Lock()
	delete(h.pending, a)
	h.mu.Unlock()
	return got
}

// unended are the commands without an answer, and by whom.
func (h *history) unended() (all []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for a, c := range h.pending {
		all = append(all, fmt.Sprintf("%v: %s of %s", a, c.Verb, c.Kind))
	}
	slices.Sort(all)
	return all
}

func (h *history) trouble(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.troubles = append(h.troubles, fmt.Sprintf(format, args...))
}

// check looks at who had the locks when, and at what is left in Redis.
func (h *history) check(t *testing.T, r rig) {
	t.Helper()
	for lock, stays := range h.stays {
		_, wrong := overlaps(stays, whole)
		t.Logf("%d sections in %s", len(stays), lock)
		wrong = append(wrong, wrongTokens(stays)...)
		for _, one := range wrong[:min(10, len(wrong))] {
			t.Errorf("%s: %s", lock, one)
		}
	}
	t.Logf("seed %d: sections of %s %d and %d, of Go %d and %d, %d tries denied, %d kills",
		h.seed, r.theirs.language(), h.done[0], h.done[1], h.done[2], h.done[3], h.denied.Load(), h.kills.Load())
	for _, trouble := range h.troubles[:min(10, len(h.troubles))] {
		t.Error(trouble)
	}
	if h.passed < contested {
		t.Errorf("one library got in after the other %d times only: that was no contest", h.passed)
	}
	h.awaitLeftovers(t, r)
}

// contested is how often one library has to get in after the other.
const contested = 4

// awaitLeftovers waits until what the killed have left is gone by itself: leases end, and whoever
// asks for a fair lock removes the dead from its queue.
func (h *history) awaitLeftovers(t *testing.T, r rig) {
	t.Helper()
	a := newClient(t, r.latch, settings{watchdog: historyWatchdog, fairWait: 10 * time.Second})
	// A dead Java waiter blocks for 10 s when it comes to the head, one after the other.
	for end := time.Now().Add(time.Minute + time.Duration(len(queue(t, h.name)))*10*time.Second); h.kind == "fair" && len(queue(t, h.name)) > 0; {
		before := snapshot(t, h.name)
		if got := a.do(t, tryLock("fair", h.name).waiting(time.Minute)); got.OK {
			a.must(t, unlock("fair", h.name))
		} else if time.Now().After(end) {
			t.Fatalf("the dead keep the queue (%+v), of\n%s\nthere is left\n%s", got, before, snapshot(t, h.name))
		}
	}
	if h.kind == "fair" { // takes the keep-alives of ours away, if the last to wait was Java
		a.must(t, lock("fair", h.name))
		a.must(t, unlock("fair", h.name))
	}
	empty(t, h.name)
}
