package demo

import (
	"strings"
	"testing"
	"time"
)

// usual are the settings that the command has by default.
func usual() Settings {
	return Settings{For: 15 * time.Second, Workers: 4, Lease: 3 * time.Second, Work: 30 * time.Millisecond}
}

func TestAWrongSettingIsNamed(t *testing.T) {
	t.Parallel()
	check(t, usual().Check())
	check(t, Settings{Pause: true, Lease: 2 * time.Second}.Check())
	for flag, spoil := range map[string]func(*Settings){
		"--workers 1":    func(s *Settings) { s.Workers = 1 },
		"--workers 65":   func(s *Settings) { s.Workers = 65 },
		"--lease 199ms":  func(s *Settings) { s.Lease = 199 * time.Millisecond },
		"--lease -3s":    func(s *Settings) { s.Lease = -3 * time.Second },
		"--lease 16m0s":  func(s *Settings) { s.Lease = 16 * time.Minute },
		"--for 11s":      func(s *Settings) { s.For = 11 * time.Second },
		"--for 0s":       func(s *Settings) { s.For = 0 },
		"--for 2h0m0s":   func(s *Settings) { s.For = 2 * time.Hour },
		"--work -1ms":    func(s *Settings) { s.Work = -time.Millisecond },
		"--work 3.1s":    func(s *Settings) { s.Work = 3100 * time.Millisecond },
		"--redis":        func(s *Settings) { s.Redis = "memory://me" }, // not told: it may have a password
		"--lease 999ms":  func(s *Settings) { s.Pause, s.Lease = true, 999*time.Millisecond },
		"--lease 1h0m0s": func(s *Settings) { s.Pause, s.Lease = true, time.Hour },
	} {
		s := usual()
		spoil(&s)
		if err := s.Check(); err == nil || !strings.HasPrefix(err.Error(), flag+":") {
			t.Errorf("%s: error %v", flag, err)
		}
	}
}

// The order of the steps is what the demonstration tells: first the TTL is seen to
// jump up again, then not.
func TestTheStepsFitIntoEveryRun(t *testing.T) {
	t.Parallel()
	usual := usual()
	if usual.For < usual.leases(minLeases) {
		t.Error("by default there is no time for all steps")
	}
	const back = doomAfter + killAfter + 1
	if stayAfter+stayFor > doomAfter || back > 0.9*minLeases {
		t.Errorf("the long visit ends at %v leases, the kill is due at %v, and the lock is back at %v of %v", stayAfter+stayFor, doomAfter, back, minLeases)
	}
}
