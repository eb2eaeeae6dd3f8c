package soak

import "testing"

// Goal: growth is seen, and noise and a warm start are not. Method: curves of each shape.
func TestGrowthIsSeen(t *testing.T) {
	curve := func(at func(i int) float64) series {
		s := series{name: "memory", unit: "MB", slack: 1}
		for i := range 100 {
			s.values = append(s.values, at(i))
		}
		return s
	}
	for _, c := range []struct {
		name  string
		grows bool
		at    func(int) float64
	}{
		{"flat", false, func(int) float64 { return 50 }},
		{"noise", false, func(i int) float64 { return 50 + float64(i%7) }},
		{"warm start", false, func(i int) float64 { return 50 - 30/float64(i+1) }},
		{"a peak", false, func(i int) float64 { return 50 + 500*float64(i/60*(1-i/62)) }},
		{"small and steady below the slack", false, func(i int) float64 { return float64(i) / 100 }},
		{"falling", false, func(i int) float64 { return float64(200 - i) }},
		{"a leak", true, func(i int) float64 { return 50 + float64(i)/5 }},
		{"a step", true, func(i int) float64 { return 50 + 20*float64(i/50) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := curve(c.at).growth(); (got != "") != c.grows {
				t.Errorf("growth: %q, want growth: %v", got, c.grows)
			}
		})
	}
}
