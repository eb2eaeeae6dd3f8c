package multilock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/guest"
	"github.com/redlatch/redlatch/internal/lock"
	"github.com/redlatch/redlatch/internal/lockerr"
	"github.com/redlatch/redlatch/internal/pause"
)

// Restart says what a restart of a server means.
type Restart struct {
	Delay   time.Duration // for which a Quorum ignores the server; negative: it forgets nothing
	Never   bool          // it cannot restart under a hold
	Timeout time.Duration // of the question since when it is up
}

// run is one run of a server, and since when, at the latest, it is known.
type run struct {
	id        string // "" if the server does not tell
	since     time.Time
	successor bool // another run was known before, at the same address
	number    int  // in the order in which runs became known to this process
}

// noted is how many runs this process has noted.
var noted struct {
	sync.Mutex
	runs int
}

// quarantine asks a member's server for how much longer it does not count, because it may have
// been restarted under a hold that is still valid. It also notes which run of a server that is, also
// for a server that forgets nothing: two names may lead to one server (oneServer).
//
// The server counts its uptime by its own wall clock, which may have been wrong. What this client
// has seen of the same run is an age as well, by its monotonic clock.
func (m Member) quarantine(ctx context.Context) (time.Duration, error) {
	if m.Restart.Never || m.Restart.Delay < 0 && m.identified() {
		return 0, nil
	}
	limited, cancel := context.WithTimeout(ctx, m.Restart.Timeout)
	defer cancel()
	asked, reply := m.information(limited)
	seconds, err := strconv.ParseInt(infoField(reply.Str, "uptime_in_seconds"), 10, 64)
	switch {
	case !answered(reply):
		return 0, lock.Failure("ask since when its server is up, of", m.Ref.Name, reply.Err)
	case m.Restart.Delay < 0: // only which run it is matters; one that does not tell is believed
		m.age(infoField(reply.Str, "run_id"), 0, asked)
		return 0, nil
	case err != nil:
		return 0, fmt.Errorf("redlatch: lock %q: %w: %s does not tell since when it is up (INFO server), which Config.RestartDelay needs: %w",
			m.Ref.Name, lockerr.ErrUnsupported, m.where(), cmp.Or(reply.Err, err))
	}
	// Both ends of the server's count are cut off to seconds, so it can be one too high.
	uptime := time.Duration(min(max(seconds, 1), maxUptime)-1) * time.Second
	return max(m.Restart.Delay-m.age(infoField(reply.Str, "run_id"), uptime, asked), 0), nil
}

// runID is the run of the server that the member's link leads to, "" if its driver does not know, and how often the link moved.
func (m Member) runID() (run string, moves int64) {
	if d, ok := m.Driver.(driver.Identified); ok {
		return d.RunID()
	}
	return "", 0
}

var errMoved = errors.New("the connection led to another server meanwhile")

// moved is the error of a grant if the link has led to another server meanwhile: nobody knows whether the present one
// gave it.
func (m Member) moved(before int64) error {
	if _, now := m.runID(); now != before {
		return fmt.Errorf("redlatch: lock %q on %s: %w", m.Ref.Name, m.where(), errMoved)
	}
	return nil
}

// identified notes which run of a server it is, if its driver knows. A driver that does not is asked once by
// INFO: it cannot say that its address leads elsewhere by now.
func (m Member) identified() bool {
	_, knows := m.Driver.(driver.Identified)
	if knows {
		run, _ := m.runID()
		m.age(run, 0, time.Now())
	}
	return knows || m.run.Load() != nil
}

// information asks the member's server for what it says of itself, and says when. A connection that is cut is no
// answer, nor is a server that is busy: it asks again until ctx ends, as the request for the lock does.
func (m Member) information(ctx context.Context) (asked time.Time, reply driver.Reply) {
	again := pause.Backoff{First: firstRestore, Max: time.Second}
	for {
		asked = time.Now()
		reply = guest.Driver(m.Driver).Do(ctx, driver.Command{Words: []string{"INFO", "server"}, Key: m.Ref.Lock})
		if answered(reply) || again.Wait(ctx) != nil {
			return asked, reply
		}
	}
}

// answered says that a server has said what it says of itself, or refuses to.
func answered(reply driver.Reply) bool {
	refused, ok := errors.AsType[*driver.ServerError](reply.Err)
	return reply.Err == nil || ok && refused.Code() != "BUSY"
}

// maxUptime is the longest uptime that matters, in seconds.
const maxUptime = 1 << 31

// age is for how long the member has been on a run of the server, at least. The uptime of a run that follows
// another one here says nothing: a standby may have been up for long when it took over the address.
func (s *Server) age(id string, uptime time.Duration, now time.Time) time.Duration {
	r := s.run.Load()
	if id == "" {
		s.run.CompareAndSwap(nil, &run{since: now})
		return uptime
	}
	if r == nil || r.id != id {
		noted.Lock()
		noted.runs++
		r = &run{id, now, r != nil && r.id != "", noted.runs}
		s.run.Store(r)
		noted.Unlock()
	}
	if r.successor {
		return now.Sub(r.since)
	}
	return max(uptime, now.Sub(r.since))
}

// infoField is one field of the reply to INFO, "" if it is not there.
func infoField(info, name string) string {
	_, rest, _ := strings.Cut(info, name+":")
	text, _, _ := strings.Cut(rest, "\r")
	return strings.TrimSpace(text)
}

// oneServer is the error of a member that was last seen on the same run of a server as another, where that was noted
// first. It is asked after the member's own run is noted, so just one of the two can be taken in.
func (o order) oneServer(i int) error {
	mine := o.Members[i].run.Load()
	for _, other := range o.Members {
		if r := other.run.Load(); mine != nil && mine.id != "" && r != nil && r.id == mine.id && r.number < mine.number {
			return Refuse("NewQuorum", "%s and %s are one server", other.where(), o.Members[i].where())
		}
	}
	return nil
}
