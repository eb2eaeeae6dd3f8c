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

// Settled says that Redis is not owed anything.
func (s *Session) Settled() bool {
	s.registry.mu.Lock()
	defer s.registry.mu.Unlock()
	return len(s.registry.unsure) == 0 && s.registry.underWay == 0
}
