package script_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

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
	d, err := memory.Open(t.Context(), memory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	embedded.Quicken(d.Miniredis())
	for name, d := range map[string]driver.Driver{"redis": connect(t, redistest.Shared(t).Addr()), "memory": d} {
		t.Run(name, func(t *testing.T) { // one after the other: they share generators
			rapid.Check(t, func(rt *rapid.T) {
				b := &bench{Driver: d, t: rt, model: model{{}, {}}, runner: script.NewRunner(d, 3*second)}
				for i := range b.locks {
					b.locks[i] = redistest.Name(t)
				}
				rt.Repeat(map[string]func(*rapid.T){
					"acquire": b.acquire, "release": b.release, "renew": b.renew, "force": b.force,
					"hand over": b.handOver, "forget": b.forget, "": b.compare,
				})
				for _, lock := range b.locks {
					d.Do(context.Background(), driver.Command{Words: []string{"DEL", lock}, Key: lock})
				}
			})
		})
	}
}

// bench is a server with a model beside it.
type bench struct {
	driver.Driver
	t      *rapid.T
	runner *script.Runner
	model  model
	locks  [2]string
	leases [2]time.Duration // the longest since the lock was free; 0 while it is
}

var (
	owners = rapid.SampledFrom([]string{me, other, anyName})
	which  = rapid.IntRange(0, 1)
	counts = rapid.IntRange(1, 3)
	spans  = rapid.SampledFrom([]time.Duration{60 * second, 120 * second, 180 * second})
)

func (b *bench) run(call script.Call) driver.Reply {
	result, err := b.runner.Run(context.Background(), call)
	if err != nil {
		b.t.Fatalf("%s: %v", call.Script(), err)
	}
	return result.Reply
}

func (b *bench) agree(call script.Call, reply driver.Reply, want string) {
	got := read(call, reply)
	if before, _, cut := strings.Cut(got, " for "); cut {
		got = before
	}
	if got != want {
		b.t.Fatalf("%s is %q, want %q: %+v", call.Script(), got, want, reply)
	}
}

func (b *bench) acquire(t *rapid.T) {
	lock, owner, count, span := which.Draw(t, "lock"), owners.Draw(t, "owner"), counts.Draw(t, "count"), spans.Draw(t, "lease")
	call := script.Mutex{Lock: b.locks[lock]}.Acquire(owner, script.Counts{Writes: count}, span, false)
	want := b.model.acquire(lock, owner, count)
	if want == "granted" {
		b.leases[lock] = max(b.leases[lock], span)
	}
	b.agree(call, b.run(call), want)
}

func (b *bench) release(t *rapid.T) {
	lock, owner, remaining, span := which.Draw(t, "lock"), owners.Draw(t, "owner"), counts.Draw(t, "count")-1, spans.Draw(t, "lease")
	call := script.Mutex{Lock: b.locks[lock], Channel: protocol.LockChannel(b.locks[lock]), Via: protocol.Plain}.Release(owner, 0, script.Counts{Writes: remaining}, span)
	want := b.model.release(lock, owner, remaining, 0)
	if want != "not held" && remaining > 0 {
		b.leases[lock] = max(b.leases[lock], span)
	}
	b.agree(call, b.run(call), want)
}

func (b *bench) renew(t *rapid.T) {
	owner := owners.Draw(t, "owner")
	locks := rapid.SliceOfN(which, 1, 4).Draw(t, "locks")
	var batch []script.Renewal
	for _, lock := range locks {
		batch = append(batch, script.Renewal{Lock: b.locks[lock], Field: owner, Lease: spans.Draw(t, "lease")})
	}
	want := b.model.renew(locks, owner)
	for i, lock := range locks {
		if want[i].Held {
			b.leases[lock] = max(b.leases[lock], batch[i].Lease)
		}
	}
	kept, err := script.ReadRenewed(b.run(script.Renew(batch)), len(batch))
	if err != nil || !slices.Equal(kept, want) {
		t.Fatalf("renewed %v, %v; want %v", kept, err, want)
	}
}

func (b *bench) force(t *rapid.T) {
	lock := which.Draw(t, "lock")
	call := script.Mutex{Lock: b.locks[lock], Channel: protocol.LockChannel(b.locks[lock]), Via: protocol.Plain}.Force("")
	b.agree(call, b.run(call), b.model.force(lock))
}

// handOver is a release and the request of another in one write.
func (b *bench) handOver(t *rapid.T) {
	lock, span := which.Draw(t, "lock"), spans.Draw(t, "lease")
	from := owners.Draw(t, "from")
	to := owners.Filter(func(owner string) bool { return owner != from }).Draw(t, "to")
	release := script.Mutex{Lock: b.locks[lock], Channel: protocol.LockChannel(b.locks[lock]), Via: protocol.Plain}.Release(from, 0, script.Counts{}, span)
	request := script.Mutex{Lock: b.locks[lock]}.Acquire(to, script.Counts{Writes: 1}, span, false)
	results, err := b.runner.RunAll(context.Background(), release, request)
	if err != nil {
		t.Fatal(err)
	}
	released := b.model.release(lock, from, 0, 0)
	if _, held := b.model.holder(lock); !held {
		b.leases[lock] = 0
	}
	granted := b.model.acquire(lock, to, 1)
	if granted == "granted" {
		b.leases[lock] = max(b.leases[lock], span)
	}
	b.agree(release, results[0].Reply, released)
	b.agree(request, results[1].Reply, granted)
}

// forget makes the server lose its scripts now and then. The shared one is spared.
func (b *bench) forget(t *rapid.T) {
	if d, ok := b.Driver.(*memory.Driver); ok && rapid.IntRange(0, 9).Draw(t, "forget") == 0 {
		d.Do(context.Background(), driver.Command{Words: []string{"SCRIPT", "FLUSH"}})
	}
}

// compare holds the server against the model.
func (b *bench) compare(t *rapid.T) {
	for lock, key := range b.locks {
		got, err := (script.Mutex{}).ReadStatus(b.run(script.Mutex{Lock: key}.Status()[0]))
		if err != nil {
			t.Fatal(err)
		}
		var fields []string
		for _, f := range got.Holders {
			fields = append(fields, f.Name+"="+f.Count)
		}
		want := b.model.fields(lock)
		if strings.Join(fields, " ") != want {
			t.Fatalf("lock %d is %v, want %q", lock, fields, want)
		}
		if want == "" {
			b.leases[lock] = 0
		}
		if want != "" && (got.TTL > b.leases[lock] || got.TTL < b.leases[lock]-30*second) {
			t.Fatalf("lock %d has the TTL %v, want %v", lock, got.TTL, b.leases[lock])
		}
	}
}
