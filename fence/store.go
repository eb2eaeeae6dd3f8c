package fence

import (
	"context"
	"sync"
)

// Store remembers the last token that passed for each resource. Memory, Ledger and
// Redis are stores.
type Store interface {
	// Pass lets a token pass that is not older than the last one of the resource,
	// and remembers it. Otherwise the error is a *StaleError, or matches ErrNoToken.
	// Any other error means that the store could not be asked, or did not answer;
	// it may then have remembered the token, and asking again is harmless.
	Pass(ctx context.Context, token int64, resource string) error
}

// Memory is a store in the memory of this process. Its zero value is empty and ready,
// and it is safe for concurrent use.
//
// It forgets everything when the process ends: after that, a stale token passes until a
// newer one has. It keeps one number for each resource that it has ever seen.
type Memory struct {
	mu   sync.Mutex
	last map[string]int64
}

var _ Store = (*Memory)(nil)

// Pass is Store.Pass. It does not block, whatever becomes of its context.
func (m *Memory) Pass(_ context.Context, token int64, resource string) error {
	if err := check(token); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if last := m.last[resource]; token < last {
		return &StaleError{Token: token, Last: last}
	}
	if m.last == nil {
		m.last = make(map[string]int64)
	}
	m.last[resource] = token
	return nil
}
