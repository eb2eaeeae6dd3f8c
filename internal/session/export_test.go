package session

// Keys are what the session is to speak of.
func (s *Session) Keys() []string { return s.registry.keys() }

// Settled says that Redis is not owed anything.
func (s *Session) Settled() bool {
	s.registry.mu.Lock()
	defer s.registry.mu.Unlock()
	return len(s.registry.unsure) == 0 && s.registry.underWay == 0
}
