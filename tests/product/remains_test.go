package product_test

import (
	"context"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/memory"
)

// What Redis has when all have gone, and what it was asked.

var (
	perpetual = regexp.MustCompile(`^(redisson_lock_token:|(permit|semaphore|latch)\d$)`)                      // keys without a TTL
	aside     = regexp.MustCompile(`^redlatch:(request|fair|waits)|^redisson_lock_(queue|timeout):|:timeout$`) // those that expire by themselves
	noted     = regexp.MustCompile(`^redlatch:note:.*}:`)
	nameOf    = regexp.MustCompile(`(mutex|fair|rw|permit|quorum)\d`)
)

// remains checks what Redis has when all have gone: nothing but what somebody left on purpose.
func (w *world) remains() {
	for i, s := range w.servers {
		for key, ttl := range s.keys() {
			late := time.Until(w.wanted(nameOf.FindString(key)))
			switch {
			case perpetual.MatchString(key):
			case ttl < 0 && strings.HasPrefix(key, "redisson_lock_") && slices.Contains(w.Whats, goesBack): // the dead count as waiters of Java
			case ttl < 0 && !strings.HasSuffix(key, ":timeout"):
				w.fail("server %d has %s without a TTL", i, key)
			case aside.MatchString(key):
			case noted.MatchString(key) && w.isForced(nameOf.FindString(key)) && ttl <= 3*w.unit.extend+w.unit.lease: // with the TTL that its lock had
			case w.recalls[noted.ReplaceAllString(key, "")] && ttl <= time.Hour: // who never learned of it
			case w.Weather >= moving, w.unit.real:
				if !strings.HasPrefix(key, "redlatch:sessions") && ttl > 3*w.unit.extend+w.unit.lease {
					w.fail("server %d has %s for %v", i, key, ttl)
				}
			case ttl > late+time.Second:
				w.fail("server %d has %s for %v, which is %v longer than anybody wanted", i, key, ttl, ttl-late)
			}
		}
	}
}

// isForced says that an operator has freed a lock.
func (w *world) isForced(name string) bool {
	_, is := w.forced[name]
	return is
}

// verified checks what all clients have recorded. Only operators make two holders.
func (w *world) verified() {
	for i := range w.records {
		r := &w.records[i]
		r.mu.Lock()
		report := r.Check()
		r.mu.Unlock()
		for _, f := range report.Findings {
			if !w.isForced(f.Lock) && f.Kind != "late loss" {
				w.fail("server %d: %s of %s: %s", i, f.Kind, f.Lock, f.Text)
			}
		}
	}
}

// wanted is until when Redis may have a lock. A dead reader stays for as long as any other reader has asked for.
func (b *books) wanted(name string) (until time.Time) {
	var kept bool
	var longest time.Duration
	for _, s := range b.stays {
		if s.name == name {
			until, longest, kept = later(until, s.until), max(longest, s.by.longest(b.Cfg.LeaseTime)), kept || s.kept
		}
	}
	if kept && strings.HasPrefix(name, "rw") {
		until = until.Add(longest)
	}
	return until
}

// keys are the keys of a server with their times to live.
func (s server) keys() map[string]time.Duration {
	ctx, all := context.Background(), map[string]time.Duration{}
	for _, r := range s.Do(ctx, driver.Command{Words: []string{"KEYS", "*"}}).Array {
		if ttl := s.Do(ctx, driver.Command{Words: []string{"PTTL", r.Str}}).Int; ttl != -2 {
			all[r.Str] = time.Duration(ttl) * time.Millisecond
		}
	}
	return all
}

// cost checks that nobody has asked Redis all the time.
func (w *world) cost() {
	rate := int64(10)
	if slices.Contains(w.Whats, quorum) { // a missing member is asked for beside the others
		rate = 60
	}
	if slices.Contains(w.Whats, multi) { // members that it has are renewed while it waits for others, if for 10 ms each
		rate = 400
	}
	for _, p := range w.all {
		for _, n := range p.nets {
			life := time.Since(p.born)
			most := 400 + int64(40*w.done) + int64(w.work/time.Second)*rate + int64(life/time.Second)*5
			if w.Weather < moving && n.sent.Load() > most {
				w.fail("a process of %v sent %d requests, at most %d", life, n.sent.Load(), most)
			}
		}
	}
}

// rest checks that in the end, in fake time, everything is free for the next one and Redis has only counters.
func (w *world) rest() {
	time.Sleep(3 * w.unit.extend)
	for _, s := range w.servers { // records of clients that were lost stay for two days
		s.Driver.(*memory.Driver).Miniredis().FastForward(72 * time.Hour)
	}
	most := w.unit.timeout + 10*time.Second
	if slices.Contains(w.Whats, goesBack) { // each dead waiter has 10 s, as one of Java
		most = w.unit.long
	}
	ctx, cancel := context.WithTimeout(context.Background(), 6*w.unit.long)
	defer cancel()
	p := w.begin()
	for n := range w.Names {
		for _, kind := range []what{mutex, fair, write, read, permit, quorum} {
			h, err := p.lock(&visit{What: kind, Name: n}).Lock(ctx, redlatch.WithWait(most))
			if err == nil {
				err = h.Unlock(ctx)
			}
			if err != nil {
				w.fail("in the end %v %d is not free: %w", kind, n, err)
			}
		}
	}
	w.end(p, true)
	for i, s := range w.servers {
		for _, key := range slices.Sorted(maps.Keys(s.keys())) {
			if !perpetual.MatchString(key) {
				w.fail("server %d has %s, long after all have gone", i, key)
			}
		}
	}
}
