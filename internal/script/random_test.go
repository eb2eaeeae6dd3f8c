package script_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/memory"
	"github.com/redlatch/redlatch/internal/embedded"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/internal/script"
)

// Goal: the scripts do what their headers say in every order. Method: random calls by
// three owners on two locks, beside a model in plain Go; after each call the reply and
// the whole state are those of the model, on a real Redis and on the one in memory.

// anyName is an owner whose name is not that of this library, nor of Redisson.
const anyName = "x:-3"

// model is what two locks should look like. Time stands still in it: leases are far
// longer than a test takes.
type model [2]map[string]int

func (m model) acquire(lock int, owner string, count int) string {
	switch holder, held := m.holder(lock); {
	case held && holder != owner:
		return "held by " + holder
	case !held && count != 1:
		return "gone"
	}
	m[lock][owner] = count
	return "granted"
}

func (m model) release(lock int, owner string, remaining, listeners int) string {
	if holder, held := m.holder(lock); !held || holder != owner {
		return "not held"
	}
	if remaining > 0 {
		m[lock][owner] = remaining
		return "holds remain"
	}
	delete(m[lock], owner)
	return fmt.Sprintf("freed, told %d", listeners)
}

func (m model) force(lock int) string {
	holder, held := m.holder(lock)
	switch {
	case !held:
		return "was free"
	case holder == anyName:
		return "error"
	}
	clear(m[lock])
	return "was held"
}

func (m model) renew(locks []int, owner string) []script.Renewed {
	var kept []script.Renewed
	for _, lock := range locks {
		_, held := m[lock][owner]
		kept = append(kept, script.Renewed{Held: held})
	}
	return kept
}

func (m model) holder(lock int) (string, bool) {
	for owner := range m[lock] {
		return owner, true
	}
	return "", false
}

func (m model) fields(lock int) string {
	for owner, count := range m[lock] {
		return owner + "=" + strconv.Itoa(count)
	}
	return ""
}

func TestRandomCallsAgreeWithTheModel(t *testing.T) {
	t.Parallel()
	d := redistest.Must(memory.Open(t.Context(), memory.Options{}))
	t.Cleanup(d.Close)
	embedded.Quicken(d.Miniredis())
	for name, d := range map[string]driver.Driver{"redis": connect(t, redistest.Shared(t).Addr()), "memory": d} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Plans(t, 100, drawMoves, func(plan []move) error { return newBench(t, d).play(plan) })
		})
	}
}

// move is one call, or two at once.
type move struct {
	verb     string
	lock     int
	owner    string
	next     string // another owner, who is handed the lock
	count    int
	lease    time.Duration
	renewals []renewal // of the owner
}

type renewal struct {
	lock  int
	lease time.Duration
}

func (m move) String() string {
	return fmt.Sprintf("%s lock %d owner %s next %s count %d lease %v renewals %v", m.verb, m.lock, m.owner, m.next, m.count, m.lease, m.renewals)
}

func drawMoves(random *rand.Rand) []move {
	return redistest.PlanOf(random, 10, 50, func(random *rand.Rand) move {
		owners := []string{me, other, anyName}
		random.Shuffle(len(owners), func(i, j int) { owners[i], owners[j] = owners[j], owners[i] })
		m := move{
			verb:  redistest.Pick(random, "acquire", "acquire", "acquire", "release", "release", "renew", "renew", "force", "hand over", "forget"),
			lock:  random.IntN(2),
			owner: owners[0], next: owners[1],
			count: 1 + random.IntN(3),
			lease: drawLease(random),
		}
		for range 1 + random.IntN(4) {
			m.renewals = append(m.renewals, renewal{random.IntN(2), drawLease(random)})
		}
		return m
	})
}

func drawLease(random *rand.Rand) time.Duration {
	return redistest.Pick(random, 60*second, 120*second, 180*second)
}

// bench is a server with a model beside it.
type bench struct {
	driver.Driver
	runner *script.Runner
	model  model
	locks  [2]string
	leases [2]time.Duration // the longest since the lock was free; 0 while it is
}

func newBench(t *testing.T, d driver.Driver) *bench {
	b := &bench{Driver: d, model: model{{}, {}}, runner: script.NewRunner(d, 3*second)}
	for i := range b.locks {
		b.locks[i] = redistest.Name(t)
	}
	return b
}

// play carries out a plan, and compares after each move.
func (b *bench) play(plan []move) error {
	moves := map[string]func(move) error{
		"acquire": b.acquire, "release": b.release, "renew": b.renew, "force": b.force,
		"hand over": b.handOver, "forget": b.forget,
	}
	for i, m := range plan {
		err := moves[m.verb](m)
		if err == nil {
			err = b.compare()
		}
		if err != nil {
			return fmt.Errorf("move %d, %s: %w", i+1, m.verb, err)
		}
	}
	for _, lock := range b.locks {
		b.Do(context.Background(), driver.Command{Words: []string{"DEL", lock}, Key: lock})
	}
	return nil
}

// mutex is one of the locks.
func (b *bench) mutex(lock int) script.Mutex {
	return script.Mutex{Lock: b.locks[lock], Channel: protocol.LockChannel(b.locks[lock]), Via: protocol.Plain}
}

// expect runs a call, and compares its answer with that of the model.
func (b *bench) expect(call script.Call, want string) error {
	result, err := b.runner.Run(context.Background(), call)
	if err != nil {
		return fmt.Errorf("%s: %w", call.Script(), err)
	}
	return agree(call, result.Reply, want)
}

func agree(call script.Call, reply driver.Reply, want string) error {
	got := read(call, reply)
	if before, _, cut := strings.Cut(got, " for "); cut {
		got = before
	}
	if got != want {
		return fmt.Errorf("%s is %q, want %q: %+v", call.Script(), got, want, reply)
	}
	return nil
}

// raise takes note that a lease was set, if it was.
func (b *bench) raise(lock int, lease time.Duration, set bool) {
	if set {
		b.leases[lock] = max(b.leases[lock], lease)
	}
}

func (b *bench) acquire(m move) error {
	want := b.model.acquire(m.lock, m.owner, m.count)
	b.raise(m.lock, m.lease, want == "granted")
	return b.expect(b.mutex(m.lock).Acquire(m.owner, script.Counts{Writes: m.count}, m.lease, false), want)
}

func (b *bench) release(m move) error {
	remaining := m.count - 1
	want := b.model.release(m.lock, m.owner, remaining, 0)
	b.raise(m.lock, m.lease, want != "not held" && remaining > 0)
	return b.expect(b.mutex(m.lock).Release(m.owner, 0, script.Counts{Writes: remaining}, m.lease), want)
}

func (b *bench) renew(m move) error {
	var locks []int
	var batch []script.Renewal
	for _, r := range m.renewals {
		locks = append(locks, r.lock)
		batch = append(batch, script.Renewal{Lock: b.locks[r.lock], Field: m.owner, Lease: r.lease})
	}
	want := b.model.renew(locks, m.owner)
	for i, r := range m.renewals {
		b.raise(r.lock, r.lease, want[i].Held)
	}
	result, err := b.runner.Run(context.Background(), script.Renew(batch))
	if err != nil {
		return err
	}
	kept, err := script.ReadRenewed(result.Reply, len(batch))
	if err != nil || !slices.Equal(kept, want) {
		return fmt.Errorf("renewed %v, %v; want %v", kept, err, want)
	}
	return nil
}

func (b *bench) force(m move) error {
	return b.expect(b.mutex(m.lock).Force(""), b.model.force(m.lock))
}

// handOver is a release and the request of another in one write.
func (b *bench) handOver(m move) error {
	release := b.mutex(m.lock).Release(m.owner, 0, script.Counts{}, m.lease)
	request := b.mutex(m.lock).Acquire(m.next, script.Counts{Writes: 1}, m.lease, false)
	results, err := b.runner.RunAll(context.Background(), release, request)
	if err != nil {
		return err
	}
	released := b.model.release(m.lock, m.owner, 0, 0)
	if _, held := b.model.holder(m.lock); !held {
		b.leases[m.lock] = 0
	}
	granted := b.model.acquire(m.lock, m.next, 1)
	b.raise(m.lock, m.lease, granted == "granted")
	if err := agree(release, results[0].Reply, released); err != nil {
		return err
	}
	return agree(request, results[1].Reply, granted)
}

// forget makes the server lose its scripts now and then. The shared one is spared.
func (b *bench) forget(m move) error {
	if d, ok := b.Driver.(*memory.Driver); ok && m.count == 1 {
		return d.Do(context.Background(), driver.Command{Words: []string{"SCRIPT", "FLUSH"}}).Err
	}
	return nil
}

// compare holds the server against the model.
func (b *bench) compare() error {
	for lock, key := range b.locks {
		result, err := b.runner.Run(context.Background(), b.mutex(lock).Status("")[0])
		if err != nil {
			return err
		}
		got, err := (script.Mutex{}).ReadStatus(result.Reply)
		if err != nil {
			return err
		}
		var fields []string
		for _, f := range got.Holders {
			fields = append(fields, f.Name+"="+f.Count)
		}
		want := b.model.fields(lock)
		if strings.Join(fields, " ") != want {
			return fmt.Errorf("%s is %v, want %q", key, fields, want)
		}
		if want == "" {
			b.leases[lock] = 0
		}
		if want != "" && (got.TTL > b.leases[lock] || got.TTL < b.leases[lock]-30*second) {
			return fmt.Errorf("%s has the TTL %v, want %v", key, got.TTL, b.leases[lock])
		}
	}
	return nil
}
