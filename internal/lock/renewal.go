package lock

import (
	"context"
	"errors"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/renew"
	"github.com/redlatch/redlatch/internal/script"
)

// renew extends the leases of a batch of grants. The renewal engine calls it.
func (m *Manager) renew(ctx context.Context, batch []renew.Renewal) []renew.Answer {
	renewals, grants := make([]script.Renewal, len(batch)), make([]*Grant, len(batch))
	for i, one := range batch {
		grants[i] = one.Item.Subject.(*Grant)
		renewals[i] = grants[i].renewal(one.Term)
	}
	answers := m.renewAll(ctx, renewals, grants)
	m.observeRenewals(batch, answers)
	return answers
}

// renewAll asks for renewals. If one server has all of them, one script does, unless the server refuses that: it may refuse
// one of them. In a cluster each has its own, because the keys of a slot on the move are on two servers.
func (m *Manager) renewAll(ctx context.Context, renewals []script.Renewal, grants []*Grant) (answers []renew.Answer) {
	if m.sharded == nil && len(renewals) > 1 && !m.alone.Load() {
		result, err := m.runner.Run(ctx, script.Renew(renewals))
		answers = m.answered(result, err, renewals, grants)
		var refused *driver.ServerError
		if !errors.As(answers[0].Err, &refused) {
			return answers
		}
		m.alone.Store(refused.Code() == "CROSSSLOT") // a proxy before several servers: it will not change its mind
	}
	calls := make([]script.Call, len(renewals))
	for i := range renewals {
		calls[i] = script.Renew(renewals[i : i+1])
	}
	answers = nil
	for i, result := range m.runner.RunEach(ctx, calls...) {
		answers = append(answers, m.answered(result, result.Failed(), renewals[i:i+1], grants[i:i+1])...)
	}
	return answers
}

// answered is readRenewed, and takes note of how long Redis may keep the locks. The engine does not, if there is no answer or the
// grant is over.
func (m *Manager) answered(result script.Result, err error, renewals []script.Renewal, grants []*Grant) []renew.Answer {
	answers := readRenewed(result, err, grants)
	var late []*Grant
	for i, g := range grants {
		answers[i].Lease = renewals[i].Lease
		from, unknown := answers[i].Asked, unsure(&result, answers[i].Err)
		if unknown {
			from = time.Now()
		}
		if (unknown || answers[i].Held) && g.outlives(from.Add(answers[i].Lease)) {
			late = append(late, g)
		}
	}
	if late != nil {
		m.settleAside(make(chan bool, 1), late...)
	}
	return answers
}

// look asks Redis aside whether it still has a grant, and exchanges what stands beside the lock. Otherwise a renewal
// does, or nothing before its time is over. It has the time of a release, also while Shutdown waits for the holds.
func (g *Grant) look() {
	if g.looks.Add(1) > 1 {
		return // whoever asks asks once more
	}
	m := g.manager
	m.Go(func() {
		for asked := int64(1); ; asked = g.looks.Load() {
			if g.held() > 0 {
				call, _ := g.renewCall(renew.Term{Lease: time.Millisecond}) // which makes nothing longer
				result, err := m.releases.Run(context.Background(), call.Ending())
				if answer := readRenewed(result, err, []*Grant{g})[0]; answer.Err == nil && !answer.Held {
					g.Lost(renew.ErrGone)
				}
			}
			if g.looks.CompareAndSwap(asked, 0) {
				return
			}
		}
	})
}

// readRenewed is what one request for renewals of these grants came to. It tells their holders of recalls.
func readRenewed(result script.Result, err error, grants []*Grant) []renew.Answer {
	answers := make([]renew.Answer, len(grants))
	var all []script.Renewed
	if err == nil {
		all, err = script.ReadRenewed(result.Reply, len(grants))
	}
	for i := range answers {
		if err != nil {
			answers[i].Err = err
		} else {
			answers[i] = renew.Answer{Err: all[i].Err, Held: all[i].Held, Asked: result.Asked}
			grants[i].recalled(all[i].Recall)
		}
	}
	return answers
}
