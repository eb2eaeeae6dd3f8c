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
// each do random bouts of verbs on one lock, and write a journal inside.
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
			h := &history{kind: kind, name: name, locks: []string{name}, seed: seed + uint64(i)}
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
	id    string   // of the client, as owners begin with it
	all   []string // the ids of this client and of those before it
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
	m.actor, m.id, m.all = a, got.Owner, append(m.all, got.Owner)
}

func (m *member) current() (actor, string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.actor, m.id
}

// history is one random history.
type history struct {
	kind, name string
	locks      []string // whose names begin with that one
	seed       uint64
	team       []*member

	end    time.Time // and later if there was no contest by then, but not after latest
	latest time.Time
	over   chan struct{}
	ops    atomic.Int64
	kills  atomic.Int64
	denied atomic.Int64
	done   [4]atomic.Int64 // sections by member
	last   atomic.Value    // the language of the last section
	passed atomic.Int64    // sections after one of the other language

	mu       sync.Mutex
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
			a, _ := m.current()
			a.peer.(*process).kill()
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
		a, id := m.current()
		a.peer.(*process).kill()
		for _, lock := range h.locks {
			redistest.Shared(t).CLI(t, "RPUSH", lock+":journal", "killed "+id)
		}
		h.kills.Add(1)
		t.Logf("killed one of %s", m.language)
		m.succeed(t)
	}
}

// play is one thread: bouts of verbs, decided by the seed alone.
func (h *history) play(m, thread int) {
	random := rand.New(rand.NewPCG(h.seed, uint64(m*threads+thread)))
	for n := 0; h.goesOn(); n++ {
		a, id := h.team[m].current()
		b := &bout{h: h, random: random, actor: a.thread(thread), id: id, member: m, name: h.name}
		switch h.kind {
		case "rw":
			b.readWrite()
		case "multi":
			b.several()
		default:
			b.exclusive(h.kind)
		}
		for b.died && h.goesOn() {
			if next, _ := h.team[m].current(); next != a {
				break
			}
			time.Sleep(10 * time.Millisecond) // until the successor is there
		}
	}
}

// goesOn says that it is not over yet. It goes on for longer until there was a contest: a JVM that
// has just begun to run is slow.
func (h *history) goesOn() bool {
	now := time.Now()
	return now.Before(h.end) || now.Before(h.latest) && h.passed.Load() < 2*contested
}

// count notes a section of a member.
func (h *history) count(member int) {
	h.done[member].Add(1)
	language := h.team[member].language
	if before := h.last.Swap(language); before != nil && before != language {
		h.passed.Add(1)
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

// check looks at the journal and at what is left in Redis.
func (h *history) check(t *testing.T, r rig) {
	t.Helper()
	server, crossings := redistest.Shared(t), 0
	for _, lock := range h.locks {
		var lines []string
		for _, line := range server.CLI(t, "LRANGE", lock+":journal", "0", "-1").([]any) {
			lines = append(lines, line.(string))
		}
		j := readJournal(lines)
		t.Logf("%d sections in %s", j.sections, lock)
		crossings += j.crossings(h.sides())
		for _, wrong := range j.wrong[:min(10, len(j.wrong))] {
			t.Error("overlap:", wrong)
		}
	}
	t.Logf("seed %d: sections of %s %d and %d, of Go %d and %d, %d tries denied, %d kills",
		h.seed, r.theirs.language(), h.done[0].Load(), h.done[1].Load(), h.done[2].Load(), h.done[3].Load(), h.denied.Load(), h.kills.Load())
	for _, trouble := range h.troubles[:min(10, len(h.troubles))] {
		t.Error(trouble)
	}
	for _, language := range []string{r.theirs.language(), r.latch.language()} {
		if n := h.sections(language); n < contested {
			t.Errorf("%s got in %d times only: that was no contest", language, n)
		}
	}
	if crossings < contested {
		t.Errorf("the lock went from one library to the other %d times only: that was no contest", crossings)
	}
	h.awaitLeftovers(t, r)
}

// contested is how often each library has to get in, and how often one after the other. The
// shortest histories of the slowest peers have three times as much.
const contested = 2

// sides are the languages of all clients that there were.
func (h *history) sides() map[string]string {
	sides := make(map[string]string)
	for _, m := range h.team {
		m.mu.Lock()
		for _, id := range m.all {
			sides[id] = m.language
		}
		m.mu.Unlock()
	}
	return sides
}

// sections is how often the members of one language got in.
func (h *history) sections(language string) (n int64) {
	for m := range h.done {
		if h.team[m].language == language {
			n += h.done[m].Load()
		}
	}
	return n
}

// awaitLeftovers waits until what the killed have left is gone by itself: leases end, and whoever
// asks for a fair lock removes the dead from its queue.
func (h *history) awaitLeftovers(t *testing.T, r rig) {
	t.Helper()
	a := newClient(t, r.latch, settings{watchdog: historyWatchdog, fairWait: 10 * time.Second})
	server := redistest.Shared(t)
	for _, lock := range h.locks {
		server.CLI(t, "DEL", lock+":journal", lock+":counter")
	}
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
