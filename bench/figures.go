package main

import (
	"math"
	"slices"
)

// figures are the numbers that one slice came to, by name. What nobody can tell is left out.
type figures map[string]float64

// minus is what was counted since an earlier count.
func (f figures) minus(before figures) figures {
	counted := figures{}
	for name, value := range f {
		counted[name] = value - before[name]
	}
	return counted
}

// results are the slices of each contest and row, in the order of the rounds.
type results map[string]map[string][]figures

// values are one figure of a row in all rounds. It is NaN in a round that could not tell it.
func (r results) values(contest, row, figure string) []float64 {
	var values []float64
	for _, f := range r[contest][row] {
		value, known := f[figure]
		if !known {
			value = math.NaN()
		}
		values = append(values, value)
	}
	return values
}

// median is the middle of a figure's values, and NaN without any.
func (r results) median(contest, row, figure string) float64 {
	return median(r.values(contest, row, figure))
}

// ratio divides round by round and gives the median: noise that hits both sides of one round alike
// cancels out. It is NaN unless there is a round of both.
func (r results) ratio(contest, row, base, figure string) float64 {
	values, bases := r.values(contest, row, figure), r.values(contest, base, figure)
	var ratios []float64
	for i := range min(len(values), len(bases)) {
		if bases[i] != 0 {
			ratios = append(ratios, values[i]/bases[i])
		}
	}
	return median(ratios)
}

// median is the middle of the values that are known, the mean of both middles of an even number,
// and NaN of none.
func median(values []float64) float64 {
	sorted := slices.DeleteFunc(slices.Sorted(slices.Values(values)), math.IsNaN)
	if len(sorted) == 0 {
		return math.NaN()
	}
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

// sum adds the values that are known. It is NaN without any.
func sum(values []float64) float64 {
	total := math.NaN()
	for _, v := range values {
		switch {
		case math.IsNaN(v):
		case math.IsNaN(total):
			total = v
		default:
			total += v
		}
	}
	return total
}

// mean is the average of values, and 0 of none.
func mean(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	return sum(values) / float64(len(values))
}

// longest is the greatest of values, and 0 of none.
func longest(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	return slices.Max(values)
}

// least is the smallest of values, and NaN of none.
func least(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	return slices.Min(values)
}
