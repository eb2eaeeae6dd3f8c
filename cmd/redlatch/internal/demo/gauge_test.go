package demo

import (
	"testing"
	"time"
)

func TestGaugeSeesRenewalsAndNothingElse(t *testing.T) {
	t.Parallel()
	start := time.Now()
	const ms = time.Millisecond
	g := gauge{lease: 3 * time.Second}
	for _, c := range []struct {
		what  string
		at    time.Duration
		owner string
		ttl   time.Duration
		from  time.Duration // negative without a renewal
	}{
		{"the first sample", 0, "a:1", 3000 * ms, -1},
		{"the TTL runs down", 950 * ms, "a:1", 2050 * ms, -1},
		{"rounding and a slow reply", 990 * ms, "a:1", 2100 * ms, -1},
		{"a renewal", 1050 * ms, "a:1", 2950 * ms, 2040 * ms},
		{"a renewal behind an outage", 2100 * ms, "a:1", 2900 * ms, 1900 * ms},
		{"another owner", 2300 * ms, "b:1", 3000 * ms, -1},
		{"free", 2400 * ms, "", 0, -1},
		{"taken again", 2500 * ms, "b:1", 3000 * ms, -1},
		{"the same process, a new hold", 2600 * ms, "b:2", 3000 * ms, -1},
	} {
		renewed, from := g.take(sample{at: start.Add(c.at), owner: c.owner, ttl: c.ttl})
		if renewed != (c.from >= 0) || renewed && from != c.from {
			t.Errorf("%s: renewed %v from %v, want %d", c.what, renewed, from, c.from)
		}
	}
	if g.renewals != 2 {
		t.Errorf("%d renewals, want 2", g.renewals)
	}
}
