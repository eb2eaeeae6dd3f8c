package redlatch

import (
	"context"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/script"
)

// sweep is one pass over the members of a Multi, in their order. While it waits for one,
// it holds none that comes later.
type sweep struct {
	*group
	patience time.Duration // for a wait while others are held; 0: no end
}

// all takes every member. After an error some are held, by the group. Neighbours that one script
// can take are taken together. If another holds one of them, they are taken up to that one, then
// that one is waited for, and then come those behind it.
func (s *sweep) all() error {
	end := len(s.parts) // those taken together come before it
	for from := 0; from < len(s.parts); {
		to := from + 1
		for to < end && s.plain(from) && s.plain(to) && s.parts[from].together(s.parts[to]) {
			to++
		}
		if to == from+1 {
			if err := s.takeOne(from); err != nil {
				return err
			}
			from, end = to, len(s.parts)
			continue
		}
		blocked, err := s.takeTogether(from, to)
		if err != nil {
			return err
		}
		if blocked < 0 {
			from = to
		} else {
			end = blocked
		}
	}
	return nil
}

// plain says that a member can be taken by the script for many: a mutex, for an owner of
// which nobody knows yet, with no more than a lease. What is protected is entered in the
// session before each is asked for.
func (s *sweep) plain(i int) bool {
	part, want := s.parts[i], s.wants[i]
	_, mutex := part.point.kind.(exclusive)
	return mutex && part.client.session == nil && part.client.ownerOf(s.under) == nil &&
		!want.fenced
}

// takeOne takes one member, and waits for it if it may.
func (s *sweep) takeOne(i int) error {
	part, want := s.parts[i], s.wants[i]
	if !s.until.IsZero() {
		want.wait = max(time.Until(s.until), 1)
	}
	if i > 0 && s.patience > 0 {
		want.wait = min(want.wait, s.patience)
	}
	h, err := part.client.acquireOn(s.under, part.point, want)
	if err != nil {
		return err
	}
	return s.keep(i, h)
}

// keep takes in a member that was granted, or says why the group has ended.
func (s *sweep) keep(i int, h *Hold) error {
	if !s.add(i, h, 0) {
		_ = h.Unlock(context.Background())
	}
	return s.over()
}

// takeTogether asks once for several members. It returns the index of one that is not to
// be had at once, or -1 when all were taken.
func (s *sweep) takeTogether(from, to int) (blocked int, err error) {
	c := s.parts[from].client
	for i := from; i < to && s.waits(); i++ {
		if c.hub.HasWaiters(s.parts[i].point.queue) {
			return i, nil // who comes later stands behind those of this process
		}
	}
	if !c.gate.enter() {
		return from, nil // which says that it is closed
	}
	defer c.gate.leave()
	limited, cancel := s.limit(s.under)
	defer cancel()
	ts, call := s.bid(from, to)
	began := time.Now()
	result, err := c.runner.Run(limited, call)
	if err != nil {
		return 0, s.settle(limited, from, ts, result, err)
	}
	all, at, err := script.ReadAcquiredAll(result.Reply, to-from)
	switch {
	case err != nil && result.Repeated: // an earlier request may have taken them
		return 0, s.settle(limited, from, ts, result, &script.UnknownError{Err: err})
	case err != nil:
		return from, nil // one by one, it shows whose error it is
	case !all.Granted && !s.waits():
		err := c.notAcquired(s.under, ts[at].point, answer{ttl: all.TTL, holder: all.Holder})
		c.observe(NotAcquired, ts[at].point, "", time.Since(began), err)
		return 0, err
	case !all.Granted:
		return from + at, nil
	}
	return -1, s.settle(limited, from, ts, script.Result{Reply: driver.Reply{Int: 1}, Asked: result.Asked}, nil)
}

// bid makes a tenure for each of several members, and the request for all of them.
func (s *sweep) bid(from, to int) ([]*tenure, script.Call) {
	ts := make([]*tenure, to-from)
	locks, owners := make([]string, to-from), make([]string, to-from)
	for i := range ts {
		part := s.parts[from+i]
		ts[i] = part.client.newTenure(s.under, part.point, nil, s.wants[from+i])
		owners[i], locks[i] = ts[i].owner, part.point.name
	}
	return ts, script.AcquireAll(locks, owners, s.wants[from].lease)
}

// settle makes holds of what was granted together, and gives up what was not answered or came
// too late. Where the group has ended meanwhile, the rest is taken in as well, to be given back.
func (s *sweep) settle(limited context.Context, from int, ts []*tenure, each script.Result, err error) error {
	var over error
	var last answer
	var open []*tenure
	for i, t := range ts {
		a := t.read(t.want.lease, each, err)
		if a.hold == nil {
			last, open = a, append(open, t)
			continue
		}
		t.client.observe(Acquired, t.point, t.owner, time.Since(each.Asked), nil)
		over = s.keep(from+i, a.hold)
	}
	if len(open) == 0 {
		return over
	}
	c := s.parts[from].client
	if open[0].unsettled { // as all of them are
		confirmed := c.takeBack(open...)
		for _, t := range open {
			t.unsettled = !confirmed
		}
	}
	return c.verdict(limited, open[0], last)
}
