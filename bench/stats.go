package main

import (
	"cmp"
	"slices"
)

// number is what has an order and can be averaged.
type number interface{ ~int64 | ~float64 }

// median is the middle of values, the mean of both middles of an even number, and 0
// of none.
func median[N number](values []N) N {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

// percentile is the smallest value that is not exceeded by p percent of values, and
// 0 of none.
func percentile[N number](values []N, p float64) N {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	rank := int(p/100*float64(len(sorted))+0.999999) - 1
	return sorted[min(max(rank, 0), len(sorted)-1)]
}

// mean is the average of values, and 0 of none.
func mean[N number](values []N) float64 {
	if len(values) == 0 {
		return 0
	}
	var sum float64
	for _, v := range values {
		sum += float64(v)
	}
	return sum / float64(len(values))
}

// longest is the greatest of values, and 0 of none.
func longest[N cmp.Ordered](values []N) N {
	var most N
	for i, v := range values {
		if i == 0 || v > most {
			most = v
		}
	}
	return most
}

// column collects one figure of each run and gives its median.
func column[R any](runs []R, figure func(R) float64) float64 {
	values := make([]float64, len(runs))
	for i, run := range runs {
		values[i] = figure(run)
	}
	return median(values)
}

// least is the smallest of one figure over all runs, and 0 without runs.
func least[R any](runs []R, figure func(R) float64) float64 {
	var smallest float64
	for i, run := range runs {
		if value := figure(run); i == 0 || value < smallest {
			smallest = value
		}
	}
	return smallest
}

// total is the sum of one figure over all runs.
func total[R any](runs []R, figure func(R) int) int {
	sum := 0
	for _, run := range runs {
		sum += figure(run)
	}
	return sum
}

// ratios divides run by run and gives the median: noise that hits both sides of one
// round alike cancels out. It is 0 unless there is a round of both.
func ratios[R any](runs, base []R, figure func(R) float64) float64 {
	var values []float64
	for i := range min(len(runs), len(base)) {
		if b := figure(base[i]); b != 0 {
			values = append(values, figure(runs[i])/b)
		}
	}
	return median(values)
}
