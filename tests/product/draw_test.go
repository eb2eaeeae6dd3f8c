package product_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/redistest"
)

// How a run is drawn. It has some of the kinds, options and events, and not all: what is rare among all of them
// then meets often.

// weather is what becomes of requests.
type weather int

const (
	calm   weather = iota
	queued         // requests and replies take their time, in order
	pooled         // the same, and one may overtake another: connections of a pool
	moving         // the server has some slots open, again and again
	lossy          // they get lost, and come long after their call
	weathers
)

// setting is what is true of a whole run.
type setting struct {
	Seed           uint64 // of the weather
	Weather        weather
	Cfg            redlatch.Config
	Actors, Visits int
	Whats          []what
	Options        []int
	Owners         []string
	Names, Procs   int
	Pool           [][]option // sets of options; visits with the same one share a cohort
	Dense          bool       // many want the same all the time
	unit           scale
}

func (s setting) String() string {
	return fmt.Sprintf("weather %d, dense %v, lease %v, protect %v, backoff %v, poll cap %v, %v",
		s.Weather, s.Dense, s.Cfg.LeaseTime, s.Cfg.Protect, s.Cfg.Backoff, s.Cfg.PollCap, s.Whats)
}

// scale are the times of a run, in fake time or on real servers.
type scale struct {
	rest, work, long    time.Duration // at most; a long work is rare
	lease, extend, stay time.Duration // LeaseTime; an extension; a cohort's time
	timeout             time.Duration // of commands and releases
	slack               time.Duration // what a machine may add
	real                bool
}

var (
	fake = scale{
		rest: 2 * time.Second, work: time.Second, long: 10 * time.Minute, lease: 30 * time.Second, extend: 10 * time.Minute,
		stay: 50 * time.Millisecond, timeout: 3 * time.Second, slack: 100 * time.Millisecond,
	}
	really = scale{
		rest: 40 * time.Millisecond, work: 10 * time.Millisecond, long: 300 * time.Millisecond, lease: 3 * time.Second, extend: time.Second,
		stay: 4 * time.Millisecond, timeout: time.Second, slack: 10 * time.Second, real: true,
	}
)

// some are some of the numbers below n, one at least, in order.
func some(random *rand.Rand, n int) []int {
	chosen := random.Perm(n)[:1+random.IntN(n)]
	slices.Sort(chosen)
	return chosen
}

func below(random *rand.Rand, d time.Duration) time.Duration {
	return time.Duration(random.Int64N(int64(d)))
}

func draw(random *rand.Rand, u scale) setting {
	s := setting{
		Seed: random.Uint64(), Weather: weather(random.IntN(int(weathers))), Actors: 2 + random.IntN(11), Visits: 3 + random.IntN(8), Names: 1 + random.IntN(2),
		Options: some(random, optionCount), Owners: redistest.Pick(random, []string{""}, []string{"own"}, []string{"", "own"}, []string{"", "own", "shared"}), unit: u,
	}
	s.Procs, s.Dense = 1+random.IntN(3), random.IntN(2) == 0
	if s.Dense {
		s.Names, s.Actors, s.Visits = 1, 4+random.IntN(9), 10+random.IntN(20)
	}
	if u.real { // where each takes its time
		s.Visits = 1 + s.Visits/2
	}
	for range 1 + random.IntN(4) {
		var set []option
		for _, kind := range s.Options {
			if random.IntN(3) == 0 {
				set = append(set, option{kind, s.time(random, kind)})
			}
		}
		s.Pool = append(s.Pool, set)
	}
	for _, w := range some(random, int(quorum)+1) {
		s.Whats = append(s.Whats, what(w), what(w))
	}
	if s.Dense || random.IntN(2) == 0 { // only few kinds
		at := 2 * random.IntN(len(s.Whats)/2)
		s.Whats = append(s.Whats[at:at+2:at+2], s.Whats[:2*random.IntN(2)]...)
	}
	for _, w := range some(random, len(whats)-int(semaphore)) {
		event := semaphore + what(w)
		if (event != dying || s.Weather == lossy && !u.real) && (event != goesBack || !u.real) {
			s.Whats = append(s.Whats, event)
		}
	}
	if s.Dense && !u.real && random.IntN(2) == 0 {
		s.crowd(random)
	}
	s.Cfg = redlatch.Config{
		LeaseTime: redistest.Pick(random, u.lease, u.lease, u.lease/3), CommandTimeout: u.timeout, ReleaseTimeout: u.timeout,
		Protect: random.IntN(3) == 0, TokenClock: random.IntN(3) == 0, RestartDelay: -1, PollCap: redistest.Pick(random, 0, u.lease/10),
	}
	if !s.Cfg.Protect && random.IntN(4) == 0 && !(s.late(quorum) && slices.Contains(s.Whats, quorum)) {
		s.Cfg.Backoff = redlatch.Backoff{First: u.stay, Max: 20 * u.stay}
	}
	return s
}

// late says that one who polls would leave so many late requests that no majority is ever free.
func (s setting) late(w what) bool { return s.Weather == lossy && w == quorum }

// crowd has all actors ask for one thing, whose meetings are rare otherwise.
func (s *setting) crowd(random *rand.Rand) {
	s.Options, s.Owners = []int{redistest.Pick(random, random.IntN(optionCount), cohort, lease, maxHold, wait)}, []string{""}
	only := s.Options[0]
	set := []option{{only, s.time(random, only)}}
	hot := slices.Repeat([]what{redistest.Pick(random, mutex, fair)}, 9)
	switch only {
	case cohort: // beside the end of a process
		set[0].D = max(s.unit.stay/10, time.Millisecond)
		s.Whats = append(slices.Repeat([]what{redistest.Pick(random, mutex, write, read)}, 9), shutdown)
	case lease: // and an extension beside the release that leaves a least time
		set = []option{{lease, s.unit.lease}, {minHold, 20 * s.unit.stay}}
		s.Weather, s.Whats = pooled, hot
	case wait: // and the clock goes back when somebody in the queue is dead
		set, s.Weather, s.Whats = nil, lossy, append(slices.Repeat([]what{fair}, 9), dying, goesBack, goesBack)
	case maxHold: // and a longer lease inside
		s.Owners, s.Whats = []string{"own"}, hot
	}
	s.Pool = [][]option{set}
}

// plan draws the visits of all actors. What outlasts half of the run, one after another, leaves nothing behind.
func (s setting) plan(random *rand.Rand) (all []*visit) {
	spare := 100 * s.unit.long
	for range s.Visits {
		for actor := range s.Actors {
			v := s.visit(random, actor, false)
			if d := v.keeps(s.Cfg.LeaseTime); d <= spare {
				spare -= d
			} else {
				v.End, v.Inner = "", nil
				v.Opts = slices.DeleteFunc(v.Opts, func(o option) bool { return o.Kind == minHold })
			}
			all = append(all, v)
		}
	}
	return all
}

func (s setting) visit(random *rand.Rand, actor int, inside bool) *visit {
	u, one := s.unit, func(n int) bool { return random.IntN(n) == 0 }
	v := &visit{
		Actor: actor, What: redistest.Pick(random, s.Whats...), Name: random.IntN(s.Names), Owner: redistest.Pick(random, s.Owners...),
		Try: one(4), Work: below(random, u.work), Opts: slices.Clone(redistest.Pick(random, s.Pool...)),
	}
	if s.late(v.What) {
		v.Opts = slices.DeleteFunc(v.Opts, func(o option) bool { return o.Kind == backoff })
	}
	if one(2) {
		v.Rest = redistest.Pick(random, below(random, u.rest), u.stay, u.stay/10, below(random, u.stay))
	}
	switch {
	case v.What == foreign && !u.real && one(4): // all others wait
		v.Work = below(random, u.long)
	case s.Dense && !one(8):
		v.Rest, v.Work = below(random, u.stay/10), redistest.Pick(random, 0, below(random, u.stay/10), below(random, u.stay))
	case one(3):
		v.Work = redistest.Pick(random, 0, u.stay, below(random, u.stay))
	case one(12):
		v.Work = below(random, u.long)
	}
	if one(3) {
		v.Limit = time.Millisecond + redistest.Pick(random, below(random, u.stay), below(random, u.work), below(random, u.long))
	}
	if !s.Dense && one(2) {
		for i := range v.Opts {
			v.Opts[i].D = s.time(random, v.Opts[i].Kind)
		}
	}
	if v.has(lease) && one(3) {
		v.Extend, v.Beside = max(redistest.Pick(random, u.extend, u.work), 10*time.Millisecond), one(2)
	}
	switch {
	case (v.has(lease) || v.has(maxHold)) && one(4):
		v.End = "wait"
	case one(6):
		v.End = "ticket"
	case one(6) && (!u.real || !s.Dense || one(8)): // really all others wait for the end of its lease
		v.End = "detach"
	}
	v.Stops = slices.Contains(s.Whats, shutdown) && one(20)
	if v.What.isLock() && !inside && one(3) {
		s.nest(random, v)
	}
	return v
}

// nest draws what is taken inside a visit, mostly the same lock once more.
func (s setting) nest(random *rand.Rand, v *visit) {
	one := func(n int) bool { return random.IntN(n) == 0 }
	inner := s.visit(random, v.Actor, true)
	v.Inner, inner.Owner, inner.Name, inner.Below, inner.Last = inner, v.Owner, v.Name, one(6), one(3)
	if !one(4) || !inner.What.isLock() {
		inner.What = v.What
		if v.What == write || one(8) {
			inner.What = redistest.Pick(random, write, read)
		}
	}
	if v.has(maxHold) && one(2) { // it may ask for more time than the outer one has
		inner.What, inner.Opts = v.What, []option{{lease, s.time(random, lease)}}
	}
	if one(6) {
		inner.Times, inner.Work, inner.End = 40, below(random, time.Millisecond), "" // forty ends of a lease would outlast the run
	}
	if bound, does := inner.waits(); does && (bound == 0 || bound > s.unit.work) { // it may stand in a circle
		inner.Limit = s.unit.work
	}
}

// time is a time for an option.
func (s setting) time(random *rand.Rand, kind int) time.Duration {
	const least = 10 * time.Millisecond
	u, short := s.unit, least+below(random, 40*time.Millisecond)
	switch kind {
	case wait:
		return redistest.Pick(random, 0, below(random, u.work), below(random, u.long), time.Nanosecond)
	case cohort:
		return redistest.Pick(random, u.stay, u.stay, 20*u.stay)
	case backoff:
		return max(u.stay, u.work/2)
	case maxHold:
		return redistest.Pick(random, short, least+below(random, u.work), least+below(random, u.lease), u.lease+below(random, u.lease))
	case replicas:
		return max(u.work/10, time.Millisecond)
	case lease:
		return redistest.Pick(random, short, u.lease, least+below(random, u.work), least+below(random, 2*u.extend))
	}
	return redistest.Pick(random, short, least+below(random, u.work), least+below(random, u.lease))
}
