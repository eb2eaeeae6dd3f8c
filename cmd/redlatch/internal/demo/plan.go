package demo

import "time"

// plan says what the parent makes happen, and when, counted from the start.
type plan struct {
	holds   []time.Duration // a worker keeps the lock for holdFor
	holdFor time.Duration
	kill    time.Duration // a worker is killed while it holds the lock
	dwell   time.Duration // for how long it is seen to hold it before
}

// plan puts the long hold before the kill, so that the TTL is first seen to jump up
// again and then seen not to. A second long hold follows where there is time left.
func (s Settings) plan() plan {
	p := plan{holdFor: s.Lease * 3 / 2, dwell: min(s.Lease/6, time.Second)}
	first := min(2*time.Second, s.For/7)
	p.holds = []time.Duration{first}
	p.kill = max(s.For*2/5, first+p.holdFor+s.For/30)
	second := max(s.For*7/10, p.kill+p.dwell+s.Lease*3/2)
	if second+p.holdFor <= s.For*9/10 {
		p.holds = append(p.holds, second)
	}
	return p
}

// act is one thing that the parent makes happen: the next worker inside is told to
// stay there, and perhaps killed.
type act struct {
	at time.Duration
	order
}

// acts are the parts of the plan in the order of time.
func (p plan) acts() []act {
	acts := []act{
		{p.holds[0], order{Stay: p.holdFor}},
		// Longer than the parent takes to kill it.
		{p.kill, order{Stay: p.dwell + p.holdFor, Doomed: true}},
	}
	for _, at := range p.holds[1:] {
		acts = append(acts, act{at, order{Stay: p.holdFor}})
	}
	return acts
}
