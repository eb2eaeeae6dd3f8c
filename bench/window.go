package main

import "time"

// window is the part of a run that counts: it begins after the warm-up and ends when the workers
// stop asking. Its moments are nanoseconds of the machine's clock, which its processes share.
type window struct {
	from, to int64
}

// after returns the window that begins a warm-up after the start.
func after(start time.Time, warmUp, length time.Duration) window {
	from := start.Add(warmUp)
	return window{from.UnixNano(), from.Add(length).UnixNano()}
}

func (w window) length() time.Duration { return time.Duration(w.to - w.from) }

func (w window) contains(moment int64) bool { return w.from <= moment && moment < w.to }

// clamp returns the moment of the window that is nearest.
func (w window) clamp(moment int64) int64 { return min(max(moment, w.from), w.to) }
