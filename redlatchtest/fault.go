package redlatchtest

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/redlatch/redlatch/internal/protocol"
)

// Lose takes a lock away from its holders, as an operator does with ForceUnlock. The lock is then free, and
// its waiters are woken. A holder learns of the loss at its next renewal, after a third of its lease at the
// latest. So outside of a bubble, set a short Config.LeaseTime.
//
// With a PermitSemaphore, Lose takes away all permits that are in use. They are then available.
//
// If owners are given, Lose takes the lock or the permit away from these alone, for example from one reader. An
// owner is a Hold.Owner.
//
// The name is that of the key: with Config.Prefix it begins with the prefix. To make a Multi or Quorum lose
// its locks, name one of its members. The test fails if nobody holds the lock, or if one of the owners is
// empty or does not hold it. Lose works while the server is frozen or denies commands.
func (s *Server) Lose(name string, owners ...string) {
	s.t.Helper()
	s.mu.Lock()
	s.losing++
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.losing--
		s.mu.Unlock()
	}()
	switch {
	case len(owners) == 0:
		owners = []string{""}
	case slices.Contains(owners, ""):
		s.t.Fatalf("redlatchtest: Lose(%q): an owner is empty. The hold of a Multi or a Quorum has none: pass those of its Hold.Members", name)
	}
	for _, owner := range owners {
		held, err := s.force(name, owner)
		switch {
		case err != nil:
			s.t.Fatalf("redlatchtest: Lose(%q): %v", name, err)
		case !held && owner != "":
			s.t.Fatalf("redlatchtest: Lose(%q): %q does not hold this lock", name, owner)
		case !held:
			s.t.Fatalf("redlatchtest: Lose(%q): nobody holds this lock; the server has the keys %q", name, s.redis.Keys())
		}
	}
}

// force frees a lock, whatever its kind: for one owner, or for all if owner is "".
func (s *Server) force(name, owner string) (held bool, err error) {
	var lock interface {
		ForceUnlock(ctx context.Context) (bool, error)
		ForceUnlockIf(ctx context.Context, owner string) (bool, error)
	}
	switch {
	case s.isSemaphore(name):
		return s.losePermits(name, owner)
	case s.redis.Type(name) == "hash" && s.redis.HGet(name, "mode") != "":
		lock = s.operator.RWMutex(name)
	case s.redis.Exists(protocol.FairQueue(name)):
		lock = s.operator.FairMutex(name)
	default:
		lock = s.operator.Mutex(name)
	}
	if owner == "" {
		return lock.ForceUnlock(context.Background())
	}
	return lock.ForceUnlockIf(context.Background(), owner)
}

// Expire ends the lease of a lock in Redis at once, as if its holder had been cut off for a lease. Nobody
// gets a message. The holder learns of it at its next renewal. Waiters learn of it when they ask again,
// after Config.PollCap at the latest.
//
// With a PermitSemaphore, Expire ends the leases of all permits that are in use. The next acquisition puts them
// back.
//
// The name is that of the key, as for Lose. The test fails if nobody holds the lock, or the key is none. Expire works while the
// server is frozen or denies commands. To let a lease end by time, call Freeze, and sleep.
func (s *Server) Expire(name string) {
	s.t.Helper()
	expire := s.expireLock
	if s.isSemaphore(name) {
		expire = s.expirePermits
	}
	if !expire(name) {
		s.t.Fatalf("redlatchtest: Expire(%q): nobody holds this lock; the server has the keys %q", name, s.redis.Keys())
	}
}

// expireLock ends the lease of a lock now. It reports false if the key is no lock.
func (s *Server) expireLock(name string) bool {
	return s.redis.Type(name) == "hash" && s.redis.Del(name)
}

// Freeze stops all answers of the server, as SIGSTOP or a broken network does. Keys go on expiring. Thaw
// ends that. The server then carries out the commands that it got meanwhile, in their order, as a real
// server does. A further call of the same thaw does nothing. The end of the test thaws the server, too.
//
// If Freeze is called several times, the server answers again after the last thaw.
func (s *Server) Freeze() (thaw func()) { return s.network.freeze() }

// Delay makes each round trip take d longer, half of it in each direction. This includes commands that are
// already under way. Commands do not wait for each other. Delay(0) ends the delay.
func (s *Server) Delay(d time.Duration) { s.network.delay(d) }

// Deny makes the server refuse commands with the error NOPERM, as it does if an ACL forbids them. Without a
// name it refuses every command. Allow ends the denial, and so does the end of the test.
//
// The names are those of Redis, in upper or lower case. EVALSHA and EVAL take, renew and release locks and
// permits. SUBSCRIBE waits for messages. PUBLISH, within a script, wakes waiters.
func (s *Server) Deny(commands ...string) (allow func()) {
	d := &denial{all: len(commands) == 0}
	for _, name := range commands {
		d.commands = append(d.commands, strings.ToUpper(name))
	}
	s.mu.Lock()
	s.denials[d] = true
	s.mu.Unlock()
	return sync.OnceFunc(func() {
		s.mu.Lock()
		delete(s.denials, d)
		s.mu.Unlock()
	})
}

// denial is one call of Deny.
type denial struct {
	all      bool
	commands []string
}

// refuse answers a command that is denied. The server calls it before each command.
func (s *Server) refuse(peer *server.Peer, command string, _ ...string) bool {
	if !s.denies(peer, command) {
		return false
	}
	peer.WriteError("NOPERM User default has no permissions to run the '" + strings.ToLower(command) + "' command")
	return true
}

func (s *Server) denies(peer *server.Peer, command string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if command == "HELLO" { // a connection begins with it
		s.connections[peer] = s.operator == nil // there is no other client yet
	}
	operator, connection := s.connections[peer] // the commands of a script come without a connection
	if operator || !connection && s.losing > 0 {
		return false
	}
	for d := range s.denials {
		if d.all || slices.Contains(d.commands, command) {
			return true
		}
	}
	return false
}

// heal ends all faults.
func (s *Server) heal() {
	s.mu.Lock()
	clear(s.denials)
	s.mu.Unlock()
	s.network.heal()
}
