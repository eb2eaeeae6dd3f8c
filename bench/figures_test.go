package main

import (
	"math"
	"testing"
)

func TestMedianIsTheMiddle(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		values []float64
		want   float64
	}{
		{[]float64{7}, 7}, {[]float64{9, 1, 5}, 5}, {[]float64{9, 1, 5, 3}, 4}, {[]float64{9, math.NaN(), 1, 5}, 5},
	} {
		before := c.values[0]
		if got := median(c.values); got != c.want || c.values[0] != before {
			t.Errorf("median(%v) = %v, want %v", c.values, got, c.want)
		}
	}
	nothing := []float64{median(nil), least(nil), sum(nil), sum([]float64{math.NaN()})}
	for i, got := range nothing {
		if !math.IsNaN(got) {
			t.Errorf("number %d of nothing is %v", i, got)
		}
	}
}

// Goal: noise that hits one round as a whole does not show in the ratio. Method: the second of three
// rounds is ten times slower for both sides.
func TestRatiosAreTakenRoundByRound(t *testing.T) {
	t.Parallel()
	rounds := func(values ...float64) (all []figures) {
		for _, v := range values {
			all = append(all, figures{"n": v})
		}
		return all
	}
	for _, c := range []struct {
		ours, base []figures
		want       float64
	}{
		{rounds(80, 8, 80), rounds(100, 10, 100), 0.8},
		{rounds(80, 40), rounds(0, 80), 0.5}, // the one round that counts
		{append(rounds(80), figures{}), rounds(100, 10), 0.8},
	} {
		r := results{"c": {"ours": c.ours, "base": c.base}}
		if got := r.ratio("c", "ours", "base", "n"); got != c.want {
			t.Errorf("the ratio is %v, want %v", got, c.want)
		}
		if got := r.ratio("c", "ours", "nobody", "n"); !math.IsNaN(got) {
			t.Errorf("the ratio to nothing is %v", got)
		}
	}
}
