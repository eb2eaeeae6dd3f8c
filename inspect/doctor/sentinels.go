package doctor

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/guest"
	"github.com/redlatch/redlatch/internal/script"
)

// watch is how one sentinel watches the primary.
type watch struct {
	Sentinel
	of map[string]string // SENTINEL MASTER
}

// examineSentinels asks each sentinel how it watches the primary.
func examineSentinels(ctx context.Context, cfg Config, t Target) (all []Check) {
	watches := make([]watch, len(t.Sentinels))
	var asking sync.WaitGroup
	for i, s := range t.Sentinels {
		asking.Go(func() { watches[i] = look(ctx, s, t.Master) })
	}
	asking.Wait()
	var lives []watch
	for _, w := range watches {
		if w.Err != nil {
			all = append(all, missingSentinel(w, t.Master))
			continue
		}
		lives = append(lives, w)
		all = append(all, w.checks(cfg)...)
	}
	all = append(all, samePrimary(lives)...)
	for i := range all {
		all[i].Page = page(all[i].Code)
	}
	return all
}

// missingSentinel is about a sentinel that does not watch the primary.
func missingSentinel(w watch, master string) Check {
	c := Check{
		Server: w.Address, Code: "sentinels", Severity: Warning, Seen: "the sentinel does not answer: " + w.Err.Error(),
		Why: "fewer sentinels are left to agree on a failover", Mend: "start it, or remove it from the URL",
	}
	if refusal(w.Err) {
		c.Seen = "the sentinel refuses: " + w.Err.Error()
		c.Mend = "SENTINEL MONITOR " + master + " HOST PORT QUORUM if it does not know the primary; or give its user in the URL"
	}
	return c
}

func look(ctx context.Context, s Sentinel, master string) watch {
	w := watch{Sentinel: s, of: make(map[string]string)}
	if w.Err != nil {
		return w
	}
	reply := guest.Driver(s.Driver).Do(ctx, driver.Command{Words: []string{"SENTINEL", "MASTER", master}})
	w.Err = reply.Err
	for i := 0; i+1 < len(reply.Array); i += 2 {
		w.of[reply.Array[i].Str] = reply.Array[i+1].Str
	}
	return w
}

// checks are those of one sentinel.
func (w watch) checks(cfg Config) (all []Check) {
	others, quorum := number(w.of, "num-other-sentinels"), number(w.of, "quorum")
	sentinels := others + 1
	c := Check{Server: w.Address, Code: "sentinels", Why: "without a majority of the sentinels there is no failover, and no lock until the primary is back"}
	c.Mend = "SENTINEL SET " + w.of["name"] + " quorum " + strconv.FormatInt(sentinels/2+1, 10)
	switch {
	case others < 0 || quorum < 0:
		return c.unknown("SENTINEL MASTER", "")
	case sentinels < 3:
		c.Mend = "run three sentinels on three machines"
		all = c.found(Warning, fmt.Sprintf("it knows %d sentinels, itself included: when one is gone, there is no failover", sentinels))
	case quorum > sentinels:
		all = c.found(Warning, fmt.Sprintf("the quorum is %d, and there are %d sentinels: there is never a failover", quorum, sentinels))
	case quorum < 2:
		all = c.found(Warning, "the quorum is 1: a sentinel that is cut off alone takes the primary for dead")
	default:
		all = c.fine(fmt.Sprintf("%d sentinels, the quorum is %d", sentinels, quorum))
	}
	return slices.Concat(all, w.downAfter(cfg), w.replicasKnown())
}

// downAfter looks at the time after which the primary counts as down.
func (w watch) downAfter(cfg Config) []Check {
	c := Check{Server: w.Address, Code: "sentinel-down-after", Why: "holders lose their locks if a failover takes longer than a lease; too short a time makes one out of a pause"}
	down := script.Duration(number(w.of, "down-after-milliseconds"), time.Millisecond)
	seen := fmt.Sprintf("down-after-milliseconds is %d, a lease is %v", down.Milliseconds(), cfg.LeaseTime)
	c.Mend = "SENTINEL SET " + w.of["name"] + " down-after-milliseconds " + strconv.FormatInt(max(cfg.LeaseTime/6, time.Second).Milliseconds(), 10)
	switch {
	case down < 0:
		return c.unknown("down-after-milliseconds", "")
	case down > cfg.LeaseTime/2:
		return c.found(Warning, seen)
	case down < 500*time.Millisecond:
		return c.found(Note, seen)
	}
	return c.fine(seen)
}

// replicasKnown looks for replicas that could become the primary.
func (w watch) replicasKnown() []Check {
	c := Check{Server: w.Address, Code: "sentinel-replicas", Why: "without a replica there is nothing to fail over to"}
	if n := number(w.of, "num-slaves"); n > 0 {
		return c.fine(fmt.Sprintf("it knows %d replicas", n))
	}
	c.Mend = "start a replica: replicaof HOST PORT in its redis.conf"
	return c.found(Warning, "it knows no replica")
}

// samePrimary compares which primary the sentinels name.
func samePrimary(lives []watch) []Check {
	c := Check{Code: "sentinel-primary", Why: "clients that ask different sentinels lock on different servers"}
	named := make(map[string][]string)
	for _, w := range lives {
		address := w.of["ip"] + ":" + w.of["port"]
		named[address] = append(named[address], w.Address)
	}
	if len(named) == 0 {
		return nil
	}
	if len(named) == 1 {
		return c.fine("all sentinels name the same primary")
	}
	var parts []string
	for address, by := range named {
		parts = append(parts, address+" by "+strings.Join(by, ", "))
	}
	slices.Sort(parts)
	c.Mend = "wait for the end of a failover, or mend the network between the sentinels"
	return c.found(Danger, "they name different primaries: "+strings.Join(parts, "; "))
}
