package watchdog

import (
	"time"

	"github.com/redlatch/redlatch/internal/script"
)

// maxFront is how far the reading of those that have just become overdue may lag behind.
const maxFront = time.Second

// pages reads who is stalled. If one page has all stalled clients, each look reads that page. If
// there are more, each look reads the next page of all, and a page of those that have become overdue
// since the last look. So a look costs the same however many there are, and invented names do not
// hide a client that has just been paused.
type pages struct {
	many  bool          // one page did not have all
	next  script.Cursor // of the next page of all
	front script.Cursor // behind those that had become overdue by the last look
	began time.Time     // when the first page of all was read; zero at first
	took  time.Duration // how long it took to read all pages
}

// calls are the questions of a look. It also asks for the known clients that are to be visited.
func (p *pages) calls(known []string, limit int) []script.Call {
	calls := []script.Call{script.SessionsStalled(p.next, limit)}
	if p.many {
		calls = append(calls, script.SessionsStalled(p.front, limit), script.SessionsDue(known))
	}
	return calls
}

// found is what a look has found.
type found struct {
	script.StalledPage                           // of all, with those that have just become overdue
	whole              bool                      // it has all stalled clients
	there              map[string]script.Stalled // those of the known clients that are stalled; nil if unknown
}

// read reads the answers to calls, and moves on to the next pages.
func (p *pages) read(results []script.Result, known []string) (found, error) {
	page, err := script.ReadStalled(results[0].Reply)
	if err != nil {
		return found{}, err
	}
	f := found{StalledPage: page, whole: p.next == (script.Cursor{}) && page.Last}
	if !p.many {
		p.front = script.CursorAt(page.Now)
	} else if err := p.readMany(&f, results[1:], known); err != nil {
		return found{}, err
	}
	p.many, p.next = !f.whole, page.Next
	if now := time.Now(); page.Last || p.began.IsZero() {
		if !p.began.IsZero() {
			p.took = now.Sub(p.began)
		}
		p.began = now
	}
	return f, nil
}

// readMany adds what a look reads if one page does not have all. If more clients become overdue than
// looks can read, the oldest of them are left to the pages of all.
func (p *pages) readMany(f *found, results []script.Result, known []string) error {
	front, err := script.ReadStalled(results[0].Reply)
	if err != nil {
		return err
	}
	f.there, err = script.ReadDue(results[1].Reply, known)
	if err != nil {
		return err
	}
	for client, one := range f.there {
		if !one.Due.Before(f.Now) {
			delete(f.there, client)
		}
	}
	p.front = front.Next
	if n := len(front.Clients); front.Last || n == 0 || front.Now.Sub(front.Clients[n-1].Due) > maxFront {
		p.front = script.CursorAt(front.Now)
	}
	f.Skipped += front.Skipped
	f.Clients = append(front.Clients, f.Clients...)
	return nil
}

// passing is how long it takes to read all pages.
func (p *pages) passing() time.Duration { return max(p.took, time.Since(p.began)) }
