package lock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redlatch/redlatch/internal/lockerr"
	"github.com/redlatch/redlatch/internal/names"
	"github.com/redlatch/redlatch/internal/script"
)

// Shutdown admits no acquisition any more and cancels every wait. It waits until nothing is held, or
// ctx has ended, and then closes. Until then holds are renewed, and may be released.
func (m *Manager) Shutdown(ctx context.Context) error {
	m.Life.Stop()
	m.queues.Close()
	select {
	case <-m.Quiet:
	case <-m.Closed:
	case <-ctx.Done():
		m.early.Do(func() {
			if n := m.held(); n > 0 {
				m.earlyErr = lockerr.WithCause(fmt.Errorf("redlatch: shutdown: locks and permits that were still held: %d", n), ctx)
			}
		})
	}
	err := m.Close(context.WithoutCancel(ctx))
	return errors.Join(m.earlyErr, err)
}

// Close releases every hold, cancels every wait, and ends every goroutine. It blocks until that
// is done or ctx has ended. Then it goes on by itself, and a further call waits for it.
func (m *Manager) Close(ctx context.Context) error {
	m.closeOnce.Do(func() {
		empty := m.Life.Close()
		m.queues.Close()
		go m.shut(empty)
	})
	select {
	case <-m.Closed:
	case <-ctx.Done():
	}
	select {
	case <-m.Closed: // also if ctx has ended as well
		return m.closeErr
	default:
		return lockerr.WithCause(errors.New("redlatch: close: still under way"), ctx)
	}
}

func (m *Manager) shut(empty <-chan struct{}) {
	<-empty
	m.closeErr = m.releaseAll()
	m.engine.Stop()
	m.Go(m.endSession) // beside releases that nobody waits for
	m.Life.Wait()
	m.queues.Stop()
	m.reporter.Wait(m.ReleaseTimeout)
	if m.CloseDriver {
		m.Driver.Close()
	}
	names.Leave(m.ID)
	close(m.Closed)
}

// releaseAll releases everything that is held: many locks in one request, the servers of a
// cluster side by side. One that cannot be released costs the others nothing.
func (m *Manager) releaseAll() error {
	ctx, cancel := context.WithTimeout(context.Background(), m.ReleaseTimeout)
	defer cancel()
	now := time.Now()
	var all []ending
	var calls, notes []script.Call
	for _, item := range m.engine.Items() {
		g := item.Subject.(*Grant)
		if e, ended := g.endAtClose(); ended {
			e.held = g.released() && !g.first.forOthers // the first hold of a cohort may have been released long ago
			all, calls = append(all, e), append(calls, e.calls[0])
			if e.noted {
				notes = append(notes, e.calls[1])
			}
		}
	}
	var failed []error
	for i, result := range m.releases.RunEach(ctx, append(calls, notes...)...)[:len(all)] {
		g, err := all[i].Grant, all[i].settled(&result, result.Failed())
		// For a permit, ErrWrongType may come from the counter, and the permit is still among those in use.
		none := errors.Is(err, lockerr.ErrLost) || errors.Is(err, lockerr.ErrWrongType) && !g.ref.permits
		if err != nil && !none {
			failed = append(failed, err)
		}
		if g.released() { // of a loss an event of its own tells
			m.observeClosed(g, now, err)
		}
	}
	if len(failed) > 0 {
		return fmt.Errorf("redlatch: close: up to %d locks stay until their leases end, among them: %w", len(failed), failed[0])
	}
	return nil
}

// endSession ends the session. If that fails, the watchdog removes what is left of it in Redis,
// or it expires.
func (m *Manager) endSession() {
	if m.session == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), m.ReleaseTimeout)
	defer cancel()
	if err := m.session.Stop(ctx); err != nil {
		m.Logger.Warn("redlatch: close: the session stays until it expires", "client", m.ID, "error", err)
	}
}
