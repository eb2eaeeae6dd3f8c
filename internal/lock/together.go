package lock

import (
	"context"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/script"
)

// Plain says that the script for many can take the lock: a mutex with no more than a lease, for an owner of
// which nobody knows yet.
func (r *Ref) Plain(ctx context.Context, opts *Options) bool {
	return r.mode == nil && opts.leaseAlone() && r.manager.ownerOf(ctx) == nil
}

// AcquireTogether asks once for several plain locks of this manager, all or none. It returns the
// index of one that cannot be had at once, or -1 and a hold for each. It does not wait, and asks
// for nothing if it may wait and others wait for one of them here.
//
// After an error, holds are those that were granted nevertheless. The observer is told outside of
// the operation, because it may close the client.
func (m *Manager) AcquireTogether(ctx, limited context.Context, refs []*Ref, opts *Options) (holds []*Hold, blocked int, err error) {
	began := time.Now()
	holds, blocked, err = m.acquireTogether(ctx, limited, refs, opts)
	if holds == nil && err != nil {
		refs[blocked].TellAcquired(ctx, nil, began, err)
	}
	m.tellAcquired(ctx, began, refs, holds)
	return holds, blocked, err
}

func (m *Manager) acquireTogether(ctx, limited context.Context, refs []*Ref, opts *Options) (holds []*Hold, blocked int, err error) {
	for i, r := range refs {
		if opts.Wait != 0 && (m.queues.MustWait(limited, r.queue) || m.holders.has(r)) {
			return nil, i, nil // who comes later stands behind those of this process
		}
	}
	if !m.Enter() {
		return nil, 0, nil // which says that it is closed
	}
	defer m.Leave()
	if refs[0].ready(limited, opts) != nil {
		return nil, 0, nil
	}
	attempts, call := m.callTogether(ctx, refs, opts)
	result, err := m.runner.Run(limited, call)
	if err == nil {
		all, at, wrong := script.ReadAcquiredAll(result.Reply, len(refs))
		switch {
		case wrong != nil && result.Repeated: // an earlier request may have taken them
			err = &script.UnknownError{Err: wrong}
		case wrong != nil:
			return nil, 0, nil // one by one, it shows whose error it is
		case !all.Granted && opts.Wait == 0:
			return nil, at, refs[at].notAcquired(ctx, outcome{ttl: all.TTL, holder: all.Holder, note: all.Note})
		case !all.Granted:
			return nil, at, nil
		}
		result = script.Result{Reply: driver.Reply{Int: 1}, Asked: result.Asked}
	}
	return m.endTogether(limited, attempts, result, err)
}

// callTogether makes a grant for each of several locks, and the call for all of them.
func (m *Manager) callTogether(ctx context.Context, refs []*Ref, opts *Options) ([]*attempt, script.Call) {
	attempts := make([]*attempt, len(refs))
	locks, owners := make([]string, len(refs)), make([]string, len(refs))
	for i, r := range refs {
		g := m.newGrant(r, nil, attempt{ctx: ctx, opts: opts})
		attempts[i], owners[i], locks[i] = &g.attempt, g.owner, r.Lock
	}
	return attempts, script.AcquireAll(locks, owners, opts.Lease)
}

// endTogether makes holds of what was granted together, and cancels what was not answered or
// came too late.
func (m *Manager) endTogether(limited context.Context, attempts []*attempt, each script.Result, err error) (holds []*Hold, blocked int, _ error) {
	holds = make([]*Hold, len(attempts))
	var last outcome
	var open []*Grant
	for i, a := range attempts {
		o := a.read(a.opts.Lease, &each, err)
		if holds[i] = o.hold; o.hold == nil {
			a.close(errNotGranted)
			last, open = o, append(open, a.Grant)
		}
	}
	if len(open) == 0 {
		return holds, -1, nil
	}
	a := &open[0].attempt
	unknown := a.unknown && !m.compensate(open...) // as it is of all of them
	return holds, 0, a.verdict(limited, last, unknown)
}
