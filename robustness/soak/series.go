package soak

import (
	"fmt"
	"slices"
	"time"
)

// series is one quantity over time.
type series struct {
	name   string
	unit   string
	slack  float64 // growth that is noise, in units, beside a tenth of the value
	values []float64
}

// growth says that a quantity has grown, and how. It is empty if it has not.
func (s series) growth() string {
	fifth := len(s.values) / 5
	if fifth == 0 {
		return ""
	}
	early, late := median(s.values[fifth:2*fifth]), median(s.values[len(s.values)-fifth:])
	if late <= early*1.1+s.slack {
		return ""
	}
	return fmt.Sprintf("%s grew from %.1f to %.1f %s", s.name, early, late, s.unit)
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

// record is all that was measured, at regular moments.
type record struct {
	every  time.Duration // between two measurements
	series []*series
}

// add appends one measurement of each quantity.
func (r *record) add(values ...float64) {
	for i, v := range values {
		r.series[i].values = append(r.series[i].values, v)
	}
}
