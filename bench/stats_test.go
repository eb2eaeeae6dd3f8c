package main

import "testing"

func TestMedianIsTheMiddle(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		values []float64
		want   float64
	}{
		{nil, 0},
		{[]float64{7}, 7},
		{[]float64{9, 1, 5}, 5},
		{[]float64{9, 1, 5, 3}, 4},
	} {
		if got := median(c.values); got != c.want {
			t.Errorf("median(%v) = %v, want %v", c.values, got, c.want)
		}
	}
}

func TestMedianLeavesItsArgumentAlone(t *testing.T) {
	t.Parallel()
	values := []float64{3, 1, 2}
	median(values)
	if values[0] != 3 || values[1] != 1 || values[2] != 2 {
		t.Errorf("the values are %v now", values)
	}
}

func TestPercentileIsNotExceededByThatShare(t *testing.T) {
	t.Parallel()
	hundred := make([]float64, 100)
	for i := range hundred {
		hundred[i] = float64(100 - i) // 1 to 100, backwards
	}
	for _, c := range []struct {
		p, want float64
	}{
		{0, 1}, {1, 1}, {50, 50}, {99, 99}, {99.5, 100}, {100, 100},
	} {
		if got := percentile(hundred, c.p); got != c.want {
			t.Errorf("percentile %v is %v, want %v", c.p, got, c.want)
		}
	}
	if got := percentile([]float64(nil), 50); got != 0 {
		t.Errorf("percentile of nothing is %v, want 0", got)
	}
}

func TestMeanLongestAndLeast(t *testing.T) {
	t.Parallel()
	values := []float64{-2, -6, -1}
	if got := mean(values); got != -3 {
		t.Errorf("mean is %v, want -3", got)
	}
	if got := longest(values); got != -1 {
		t.Errorf("longest is %v, want -1", got)
	}
	if got := least(values, func(v float64) float64 { return v }); got != -6 {
		t.Errorf("least is %v, want -6", got)
	}
	if got := mean([]float64(nil)); got != 0 {
		t.Errorf("mean of nothing is %v, want 0", got)
	}
}

// Goal: noise that hits one round as a whole does not show in the ratio. Method: the
// second of three rounds is ten times slower for both sides.
func TestRatiosAreTakenRoundByRound(t *testing.T) {
	t.Parallel()
	self := func(v float64) float64 { return v }
	if got := ratios([]float64{80, 8, 80}, []float64{100, 10, 100}, self); got != 0.8 {
		t.Errorf("ratio is %v, want 0.8", got)
	}
	if got := ratios([]float64{80}, nil, self); got != 0 {
		t.Errorf("ratio to nothing is %v, want 0", got)
	}
	if got := ratios([]float64{80, 40}, []float64{0, 80}, self); got != 0.5 {
		t.Errorf("ratio is %v, want 0.5 from the one round that counts", got)
	}
}

func TestColumnIsTheMedianOfOneFigure(t *testing.T) {
	t.Parallel()
	tenfold := func(v int) float64 { return float64(10 * v) }
	if got := column([]int{3, 1, 2}, tenfold); got != 20 {
		t.Errorf("column is %v, want 20", got)
	}
	if got := total([]int{3, 1, 2}, func(v int) int { return 10 * v }); got != 60 {
		t.Errorf("total is %v, want 60", got)
	}
}
