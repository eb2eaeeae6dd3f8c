package fence

import (
	"context"
	"crypto/sha256"
	"sync"
)

// Store remembers the last token that passed for each resource. Memory, Ledger, Redis
// and S3 are stores.
type Store interface {
	// Pass remembers a token if it is not older than the last one of the resource.
	// Otherwise the error is a *StaleError, or matches ErrNoToken. Any other error means
	// that the store could not be asked, or did not answer. It may have remembered the token
	// then. It is safe to repeat the call.
	Pass(ctx context.Context, token int64, resource string) error
}

// Memory is a store in the memory of this process. Its zero value is empty and ready to use. It
// is safe for concurrent use.
//
// It forgets everything when the process ends. After that, a stale token passes until a newer
// one has passed. It also forgets a resource after tokens of more than 100,000 others have
// passed.
type Memory struct {
	mu sync.Mutex
	// Both map a resource to its last token. New tokens go into recent. A full recent
	// becomes older, and the former older is forgotten.
	recent, older map[string]int64
}

var _ Store = (*Memory)(nil)

// fullMemory is the largest number of resources in Memory.recent.
const fullMemory = 100_000

// Pass is Store.Pass. It does not block, and ignores its context.
func (m *Memory) Pass(_ context.Context, token int64, resource string) error {
	if err := check(token); err != nil {
		return err
	}
	key := short(resource)
	m.mu.Lock()
	defer m.mu.Unlock()
	if last := max(m.recent[key], m.older[key]); token < last {
		return &StaleError{Token: token, Last: last}
	}
	if _, there := m.recent[key]; !there && len(m.recent) >= fullMemory || m.recent == nil {
		m.recent, m.older = make(map[string]int64), m.recent
	}
	m.recent[key] = token
	return nil
}

// short is the name under which Memory remembers a resource. Its length is bounded, because a
// client chooses the length of a path.
func short(resource string) string {
	if len(resource) <= sha256.Size {
		return resource
	}
	digest := sha256.Sum256([]byte(resource))
	return string(digest[:]) + "#" // no name that is kept as it is has this length
}
