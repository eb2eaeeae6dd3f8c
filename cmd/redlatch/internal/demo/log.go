package demo

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// log is the view where there is no terminal: plain lines, one a second and one for
// each note.
type log struct {
	out  io.Writer
	next time.Duration // when the state is due
}

const logEvery = time.Second

func (v *log) begin(s *scene) error {
	v.next = logEvery
	_, err := fmt.Fprintf(v.out, "redlatch demo: %d processes add to one unguarded number, under one lock\nlock %s, lease %v, renewed every third of it\nredis %s\n\n",
		s.settings.Workers, s.lock, s.settings.Lease, s.server)
	return err
}

func (v *log) note(n note) error { return v.line(n.after, n.text) }

func (v *log) draw(s *scene) error {
	if s.elapsed() < v.next {
		return nil
	}
	v.next = s.elapsed().Truncate(logEvery) + logEvery
	return v.line(s.elapsed(), v.state(s))
}

// state is the scene in one line.
func (v *log) state(s *scene) string {
	text := fmt.Sprintf("held by %s, TTL %s", s.holder(), seconds(s.ttl()))
	if s.sample.owner == "" {
		text = "held by nobody"
	}
	if s.trouble != nil {
		text = fmt.Sprintf("Redis does not answer: %v", s.trouble)
	}
	wait := "waiting"
	if s.settings.Fair {
		wait = "queue"
	}
	switch waiters := s.waiters(); {
	case len(waiters) > 8: // the line would not fit
		text += fmt.Sprintf("; %s: %d workers", wait, len(waiters))
	case len(waiters) > 0:
		text += "; " + wait + ": " + strings.Join(waiters, " ")
	}
	return fmt.Sprintf("%s; increments %d, counter %d, overlaps %d", text, s.verdict.Completed, s.counter, s.verdict.Overlaps)
}

func (v *log) line(after time.Duration, text string) error {
	_, err := fmt.Fprintf(v.out, "%6.1f s  %s\n", after.Seconds(), text)
	return err
}

func (v *log) end(*scene) error { return nil }
