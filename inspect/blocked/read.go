package blocked

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/lockerr"
	"github.com/redlatch/redlatch/internal/pause"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/script"
)

// Options are the settings of Read. The zero value is useful.
type Options struct {
	// Locks are the keys of further locks, whose fair queues Read reads: for example those that package
	// inspect has found. A key is Config.Prefix and the name.
	Locks []string
	// CommandTimeout limits each step of Read. Default: 3s.
	CommandTimeout time.Duration
	// Rate limits the commands that Read sends in a second, apart from repetitions. Default: no limit.
	Rate int
}

// The bounds of what is read. A protected client tells 256 waits at most.
const (
	maxClients = 2000
	maxLocks   = 5000
	maxQueue   = 1000 // of one lock
	maxParts   = 200  // of all sessions, after the first part of each
	maxEdges   = 20_000
)

// Read reads who waits for whom. It changes nothing, takes a bounded number of steps, and ends with ctx. A
// user without the right to CLIENT LIST gets no names and addresses.
//
// If a part cannot be read, such as that of one server of a Cluster, Read returns the others and an error.
func Read(ctx context.Context, d driver.Driver, o Options) (Graph, error) {
	if err := lockerr.Missing("driver", d); err != nil {
		return Graph{}, err
	}
	timeout := cmp.Or(o.CommandTimeout, 3*time.Second)
	r := reading{driver: d, runner: script.NewRunner(d, timeout), rate: o.Rate, locks: make(map[subject][]script.Wait)}
	r.sessions(ctx)
	for _, name := range o.Locks {
		r.add(subject{name: name})
	}
	r.holders(ctx)
	if len(r.graph.Edges) > 0 {
		r.name(ctx)
	}
	slices.SortStableFunc(r.graph.Edges, func(a, b Edge) int {
		return cmp.Or(compareSince(a.Since, b.Since), cmp.Compare(a.Lock, b.Lock), cmp.Compare(a.Waiter.Owner, b.Waiter.Owner))
	})
	return r.graph, r.failed()
}

// compareSince puts the longest wait first, and those of unknown age last.
func compareSince(a, b time.Time) int {
	if a.IsZero() != b.IsZero() {
		return map[bool]int{true: 1, false: -1}[a.IsZero()]
	}
	return a.Compare(b)
}

// subject is a lock whose holders are read: as a read-write lock, or as a fair one, of which a mutex has
// no queue.
type subject struct {
	name string
	rw   bool
}

// reading is one Read.
type reading struct {
	driver driver.Driver
	runner *script.Runner
	rate   int       // 0: no limit
	next   time.Time // when more calls may be sent
	graph  Graph
	locks  map[subject][]script.Wait // the waits of sessions
	order  []subject
	parts  int // that were read, after the first part of each session

	failure  error // the first one
	failures int
}

// each sends calls, no more in a second than the rate.
func (r *reading) each(ctx context.Context, calls ...script.Call) (results []script.Result) {
	if r.rate <= 0 {
		return r.runner.RunEach(ctx, calls...)
	}
	for some := range slices.Chunk(calls, max(1, r.rate/10)) {
		_ = pause.For(ctx, time.Until(r.next)) // behind the end of ctx the calls fail
		r.next = time.Now().Add(time.Duration(len(some)) * time.Second / time.Duration(r.rate))
		results = append(results, r.runner.RunEach(ctx, some...)...)
	}
	return results
}

// fail notes that a part could not be read.
func (r *reading) fail(err error) {
	if r.failures++; r.failures == 1 {
		r.failure = err
	}
	r.graph.LeftOut = true
}

// failed is the error of Read.
func (r *reading) failed() error {
	switch r.failures {
	case 0:
		return nil
	case 1:
		return fmt.Errorf("redlatch: blocked: %w", r.failure)
	}
	return fmt.Errorf("redlatch: blocked: %d parts could not be read: the first: %w", r.failures, r.failure)
}

// add notes a lock to look at.
func (r *reading) add(s subject, waits ...script.Wait) {
	_, known := r.locks[s]
	switch {
	case protocol.CheckName(s.name) != nil:
		return
	case !known && len(r.order) == maxLocks:
		r.graph.LeftOut = true
		return
	case !known:
		r.order = append(r.order, s)
	}
	r.locks[s] = append(r.locks[s], waits...)
}

// sessions reads what protected clients wait for and hold.
func (r *reading) sessions(ctx context.Context) {
	r.graph.Seen = time.Now()
	result, err := r.runner.Run(ctx, script.SessionsKnown(maxClients))
	var known script.Known
	if err == nil {
		known, err = script.ReadKnown(result.Reply)
	}
	if err != nil {
		r.fail(fmt.Errorf("the list of protected clients: %w", err))
		return
	}
	r.graph.Now, r.graph.Clients, r.graph.LeftOut = known.Now, known.All, known.All > len(known.Clients)
	calls := make([]script.Call, 0, 2*len(known.Clients))
	for _, client := range known.Clients {
		calls = append(calls, script.ReadWaits(client), script.SessionRead(client, "0"))
	}
	results := r.each(ctx, calls...)
	for i, client := range known.Clients {
		r.waits(client, results[2*i])
		r.holds(ctx, client, results[2*i+1])
	}
}

// waits takes in what one client waits for. A key of another type is left out.
func (r *reading) waits(client string, result script.Result) {
	if err := errorOf(result); err != nil {
		r.fail(fmt.Errorf("the waits of a client, %s: %w", client, err))
		return
	}
	waits, leftOut, err := script.ReadWaitsOf(client, result.Reply)
	r.graph.LeftOut = r.graph.LeftOut || leftOut > 0 || err != nil
	latest := r.graph.Now.Add(time.Since(r.graph.Seen)) // the server's time by now, or later
	for _, w := range waits {
		if w.Confirmed.After(latest) {
			w.Confirmed = time.Time{} // the server's clock was set back since
		}
		r.add(subject{w.Lock, w.Mode == protocol.WaitRead || w.Mode == protocol.WaitWrite}, w)
	}
}

// holds takes in what one client holds, part by part.
func (r *reading) holds(ctx context.Context, client string, part script.Result) {
	for {
		if err := errorOf(part); err != nil {
			r.fail(fmt.Errorf("the holds of a client, %s: %w", client, err))
			return
		}
		page, err := script.ReadSession(part.Reply)
		for _, e := range page.Entries {
			if _, writes := protocol.ParseField(e.Field); !e.Read && !writes && protocol.OwnField(client, e.Field) {
				r.add(subject{name: e.Lock}) // it may be a fair lock, with a queue
			}
		}
		from, more := page.Next()
		switch {
		case err != nil || !more:
			return
		case r.parts == maxParts:
			r.graph.LeftOut = true
			return
		}
		r.parts++
		part = r.each(ctx, script.SessionRead(client, from))[0]
	}
}

// broken says that an error is more than a key of another type, or a hash that is no lock.
func broken(err error) bool {
	code := script.Code(err)
	return code != "" && code != "WRONGTYPE" && code != "NOTLOCK"
}

// holders reads who holds the locks, and makes the edges.
func (r *reading) holders(ctx context.Context) {
	var calls []script.Call
	for _, s := range r.order {
		if s.rw {
			calls = append(calls, script.NewRW(s.name, protocol.Plain).Status("")...)
		} else {
			calls = append(calls, script.NewFair(s.name, 0, protocol.Plain).Status("")...)
		}
	}
	results := r.each(ctx, calls...)
	for _, s := range r.order {
		n := 2
		if s.rw {
			n = 1
		}
		switch err := errorOf(results[:n]...); {
		case err != nil:
			r.fail(fmt.Errorf("lock %q: %w", s.name, err))
		case s.rw:
			r.readWrite(s, results[0])
		default:
			r.exclusive(s, results[0], results[1])
		}
		results = results[n:]
	}
}

// errorOf is why a lock could not be read, if it is more than a key of another type.
func errorOf(results ...script.Result) error {
	for _, result := range results {
		if err := result.Failed(); err != nil {
			return err
		}
		if err := result.Reply.Err; broken(err) {
			return err
		}
	}
	return nil
}

// exclusive makes the edges of a mutex, which may be fair.
func (r *reading) exclusive(s subject, status, queue script.Result) {
	state, err := script.Mutex{Lock: s.name}.ReadStatus(status.Reply)
	if err != nil || len(state.Holders) == 0 {
		return // free, or other data
	}
	holder := state.Holders[0].Name
	told := make(map[string]bool)
	for _, w := range r.locks[s] {
		told[w.Owner] = true
		r.edge(w, holder, true)
	}
	queued, err := script.ReadQueue(queue.Reply)
	if err != nil {
		return
	}
	r.graph.LeftOut = r.graph.LeftOut || len(queued) > maxQueue
	for _, q := range queued[:min(len(queued), maxQueue)] {
		if !told[q.Owner] {
			r.edge(script.Wait{Owner: q.Owner, Lock: s.name, Mode: protocol.WaitFair}, holder, false)
		}
	}
}

// readWrite makes the edges of a read-write lock. A reader waits for the writer alone.
func (r *reading) readWrite(s subject, status script.Result) {
	state, err := script.NewRW(s.name, protocol.Plain).ReadStatus(status.Reply)
	if err != nil {
		return
	}
	r.graph.LeftOut = r.graph.LeftOut || state.Owners > len(state.Holders)
	for _, w := range r.locks[s] {
		var seen []string // a writer may read as well
		for _, field := range state.Holders {
			owner, writes := protocol.ParseField(field.Name)
			if !slices.Contains(seen, owner) && (writes || w.Mode == protocol.WaitWrite) {
				seen = append(seen, owner)
				r.edge(w, owner, true)
			}
		}
	}
}

// edge adds an edge. Who holds the lock by now does not wait.
func (r *reading) edge(w script.Wait, holder string, told bool) {
	switch {
	case w.Owner == holder:
	case len(r.graph.Edges) == maxEdges:
		r.graph.LeftOut = true
	default:
		r.graph.Edges = append(r.graph.Edges, Edge{
			Waiter: party(w.Owner), Holder: party(holder), Lock: w.Lock, Mode: Mode(w.Mode),
			Since: w.Since.UTC(), Confirmed: w.Confirmed.UTC(), Under: w.Under, Told: told,
		})
	}
}

func party(owner string) Party {
	client, _, _ := protocol.ParseOwner(owner)
	return Party{Owner: owner, Client: cmp.Or(client, owner)}
}
