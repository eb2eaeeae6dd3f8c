package demo

import (
	"errors"
	"testing"
	"time"
)

func TestGaugeSeesRenewalsAndNothingElse(t *testing.T) {
	t.Parallel()
	start := time.Now()
	at := func(ms int, owner string, ttl int) sample {
		return sample{at: start.Add(time.Duration(ms) * time.Millisecond), owner: owner, ttl: time.Duration(ttl) * time.Millisecond}
	}
	g := gauge{lease: 3 * time.Second}
	for _, c := range []struct {
		what   string
		sample sample
		from   int // milliseconds; -1 without a renewal
	}{
		{"the first sample", at(0, "a:1", 3000), -1},
		{"the TTL runs down", at(950, "a:1", 2050), -1},
		{"rounding and a slow reply", at(990, "a:1", 2100), -1},
		{"a renewal", at(1050, "a:1", 2950), 2040},
		{"no answer", sample{err: errors.New("timeout")}, -1},
		{"a renewal behind an outage", at(2100, "a:1", 2900), 1900},
		{"another owner", at(2300, "b:1", 3000), -1},
		{"free", at(2400, "", 0), -1},
		{"taken again", at(2500, "b:1", 3000), -1},
		{"the same process, a new hold", at(2600, "b:2", 3000), -1},
	} {
		renewed, from := g.take(c.sample)
		if renewed != (c.from >= 0) || renewed && from != time.Duration(c.from)*time.Millisecond {
			t.Errorf("%s: renewed %v from %v, want %d", c.what, renewed, from, c.from)
		}
	}
	if g.renewals != 2 {
		t.Errorf("%d renewals, want 2", g.renewals)
	}
}
