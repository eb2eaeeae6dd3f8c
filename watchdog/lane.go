package watchdog

import (
	"context"
	"errors"
	"time"
)

// mostLarge is how many large sessions wait for the lane at a time.
const mostLarge = 64

// keyTime is how long the lane is taken for each key: at most 200,000 keys a second.
const keyTime = 5 * time.Microsecond

// errBusy is the failure of a visit that found no place. It is tried again at the next look.
var errBusy = errors.New("too many large sessions are being served")

// lane is where large sessions are renewed, one request after another and no faster than
// Redis has time for. So they wait for each other, and nobody else for them.
type lane struct {
	places chan struct{} // for those that wait, and the one that does not
	turn   chan struct{} // capacity one: held by the one whose request is under way
}

func newLane() lane {
	return lane{places: make(chan struct{}, mostLarge), turn: make(chan struct{}, 1)}
}

// isLarge makes a visit one of a large session, which gives up its room and has a place in
// the lane instead. It reports false if there is no place.
func (v *visit) isLarge() bool {
	if v.large {
		return true
	}
	select {
	case v.lane.places <- struct{}{}:
		<-v.room
		v.large = true
	default:
	}
	return v.large
}

// enterLane waits for the visit's turn, if it needs one. Leave ends that, when Redis has had
// enough time for so many keys.
func (v *visit) enterLane(keys int) (leave func(ctx context.Context)) {
	if !v.large {
		return func(context.Context) {}
	}
	v.lane.turn <- struct{}{}
	began := time.Now()
	return func(ctx context.Context) {
		pace := time.NewTimer(time.Until(began.Add(time.Duration(keys) * keyTime)))
		defer pace.Stop()
		select {
		case <-pace.C:
		case <-ctx.Done():
		}
		<-v.lane.turn
	}
}

// end gives up what the visit has a place in.
func (v *visit) end() {
	if v.large {
		<-v.lane.places
	} else {
		<-v.room
	}
}
