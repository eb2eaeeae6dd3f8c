package demo

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
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
func TestThePlanFitsIntoEveryRun(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := usual()
		s.Lease = time.Duration(rapid.Int64Range(int64(minLease), int64(maxFor)/minLeases).Draw(t, "lease"))
		s.For = time.Duration(rapid.Int64Range(int64(minLeases*s.Lease), int64(maxFor)).Draw(t, "for"))
		if err := s.Check(); err != nil {
			t.Fatal(err)
		}
		p := s.plan()
		if first := p.holds[0]; first+p.holdFor > p.kill {
			t.Fatalf("the long hold from %v to %v reaches into the kill at %v", first, first+p.holdFor, p.kill)
		}
		back := p.kill + p.dwell + s.Lease
		if back > s.For*9/10 {
			t.Fatalf("the lock comes back at %v of %v", back, s.For)
		}
		for _, second := range p.holds[1:] {
			if second < back || second+p.holdFor > s.For {
				t.Fatalf("the second long hold from %v to %v, the lock is back at %v", second, second+p.holdFor, back)
			}
		}
	})
}

func TestTheUsualPlan(t *testing.T) {
	t.Parallel()
	p := usual().plan()
	if p.holds[0] != 2*time.Second || p.holdFor != 4500*time.Millisecond || p.kill != 7*time.Second || len(p.holds) != 1 {
		t.Errorf("%+v", p)
	}
	long := usual()
	long.For = 30 * time.Second
	if p := long.plan(); len(p.holds) != 2 || p.kill != 12*time.Second {
		t.Errorf("a run of 30 s has the plan %+v", p)
	}
}
