package session

import (
	"maps"
	"slices"
)

// Keys are what the session is to speak of, in order.
func (s *Session) Keys() []string {
	s.registry.mu.Lock()
	defer s.registry.mu.Unlock()
	return slices.Sorted(maps.Keys(s.registry.entries))
}

// Pulse is the name of the pulse that is acknowledged.
func (s *Session) Pulse() string {
	name, _ := s.currentPulse()
	return name
}

// Confirmed says that Redis has confirmed everything.
func (s *Session) Confirmed() bool {
	s.registry.mu.Lock()
	defer s.registry.mu.Unlock()
	return len(s.registry.unconfirmed) == 0
}

// Kept is how many keys the registry keeps in memory.
func (s *Session) Kept() int {
	s.registry.mu.Lock()
	defer s.registry.mu.Unlock()
	return len(s.registry.entries) + len(s.registry.unconfirmed)
}
