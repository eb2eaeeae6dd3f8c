package watchdog

import (
	"context"
	"errors"
	"time"

	"github.com/redlatch/redlatch/internal/pause"
)

// maxLarge is how many large sessions wait for the lane at a time.
const maxLarge = 64

// keyTime is how long the lane is taken for each key: at most 200,000 keys a second.
const keyTime = 5 * time.Microsecond

// errBusy is the failure of a visit that found no place in the lane. It is tried again at the
// next look.
var errBusy = errors.New("too many large sessions are being served")

// lane is where large sessions are renewed, one request after another, at a pace that leaves
// Redis time for others. So large sessions wait for each other, and no other session waits for
// them.
type lane struct {
	places chan struct{} // for the visits in the lane
	active chan struct{} // capacity one: taken by the visit whose request is under way
}

// becomeLarge makes a visit one of a large session, which has a place in the lane instead of a
// slot. It reports false if there is no place.
func (v *visit) becomeLarge() bool {
	if v.large {
		return true
	}
	select {
	case v.lane.places <- struct{}{}:
		<-v.slots
		v.large = true
	default:
	}
	return v.large
}

// enterLane waits for the visit's turn, if it is a large one. Leave ends the turn, after the
// time for so many keys has passed.
func (v *visit) enterLane(keys int) (leave func(ctx context.Context)) {
	if !v.large {
		return func(context.Context) {}
	}
	v.lane.active <- struct{}{}
	began := time.Now()
	return func(ctx context.Context) {
		_ = pause.For(ctx, time.Until(began.Add(time.Duration(keys)*keyTime)))
		<-v.lane.active
	}
}

// end frees the visit's slot, or its place in the lane.
func (v *visit) end() {
	if v.large {
		<-v.lane.places
	} else {
		<-v.slots
	}
}
