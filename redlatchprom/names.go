package redlatchprom

import (
	"cmp"
	"strings"
	"sync"
)

// names are the values of the label lock.
type names struct {
	of   func(lock string) string
	most int

	mu    sync.Mutex
	known map[string]bool
}

// others is the value for all names beyond the bound.
const others = "(other)"

// newNames returns nil if there is no such label.
func newNames(o Options) *names {
	if o.ByName == nil {
		return nil
	}
	return &names{of: o.ByName, most: cmp.Or(max(o.MaxNames, 0), 100), known: make(map[string]bool)}
}

// label is the value for a lock. Prometheus takes nothing but UTF-8, and a lock may have any name.
func (n *names) label(lock string) string {
	value := strings.ToValidUTF8(n.of(lock), "�")
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case n.known[value]:
	case len(n.known) < n.most:
		n.known[value] = true
	default:
		return others
	}
	return value
}
