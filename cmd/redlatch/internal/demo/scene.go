package demo

import (
	"fmt"
	"strings"
	"time"
)

// scene is all that a view shows.
type scene struct {
	settings Settings
	lock     string // its name
	server   string // where it stands
	began    time.Time
	now      time.Time

	rows     []row
	dead     row    // the worker that was killed; its place has been taken
	sample   sample // the last one
	trouble  error  // why there was none since
	renewals int
	verdict  Verdict // as far as it goes
	counter  int64
	handOver time.Duration // the last one
}

// row is one worker's place.
type row struct {
	number int
	pid    int
	client string // first half of its owners
	state  eventKind
	since  time.Time
	done   int
	stays  bool // inside, because it was told to

	replaces int // the number of the one that was killed in this place, or 0
}

// note is something that happened.
type note struct {
	after time.Duration // since the start
	mood  mood
	text  string
}

// mood is the colour of a text.
type mood int

const (
	neutral mood = iota
	good
	bad
	faint
	bold
)

// view shows the scene to somebody.
type view interface {
	// begin comes before everything else.
	begin(s *scene) error
	// draw shows how things stand. It is called often.
	draw(s *scene) error
	// note shows what happened, once.
	note(n note) error
	// end shows the scene for the last time.
	end(s *scene) error
}

// elapsed is how much of the time is over.
func (s *scene) elapsed() time.Duration { return min(s.now.Sub(s.began), s.settings.For) }

// row finds a worker's place by its number; nil if it has none any more.
func (s *scene) row(number int) *row {
	for i := range s.rows {
		if s.rows[i].number == number {
			return &s.rows[i]
		}
	}
	return nil
}

// holder names the worker that has the lock, as Redis says.
func (s *scene) holder() string {
	if s.sample.owner == "" {
		return "nobody"
	}
	if s.orphaned() {
		return fmt.Sprintf("w%d, dead", s.dead.number)
	}
	return s.name(s.sample.owner)
}

// name names the worker that an owner belongs to.
func (s *scene) name(owner string) string {
	client, _, _ := strings.Cut(owner, ":")
	for _, r := range s.rows {
		if r.client == client {
			return fmt.Sprintf("w%d", r.number)
		}
	}
	return "a stranger"
}

// orphaned says whether the lock belongs to the worker that was killed.
func (s *scene) orphaned() bool {
	client, _, _ := strings.Cut(s.sample.owner, ":")
	return client != "" && client == s.dead.client
}

// waiters names the workers that wait. The holder is none of them, even where Redis
// was asked a moment before the worker was heard. Those for a fair lock are named in
// the order of its queue.
func (s *scene) waiters() []string {
	var names []string
	if s.settings.Fair {
		for _, owner := range s.sample.queue {
			names = append(names, s.name(owner))
		}
		return names
	}
	for _, r := range s.rows {
		if name := fmt.Sprintf("w%d", r.number); r.state == waiting && name != s.holder() {
			names = append(names, name)
		}
	}
	return names
}

// ttl is what is left of the lease now, run down from the last sample.
func (s *scene) ttl() time.Duration {
	if s.sample.owner == "" {
		return 0
	}
	return max(s.sample.ttl-s.now.Sub(s.sample.at), 0)
}
