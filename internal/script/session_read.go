package script

import (
	"slices"
	"strconv"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/protocol"
)

// The bounds of a session that is read. No client of this library writes anything longer.
const (
	sessionPage  = 500  // entries that one script returns, roughly
	longestField = 2048 // a lock's name and an owner, in bytes
	longestEntry = 128
	longestLease = time.Hour // a longer lease is cut to this
)

// SessionPage is a part of a client's session.
type SessionPage struct {
	Pulse   string // as the session names it; "" for none
	Entries []SessionEntry
	Odd     []string // the keys of entries that no version of this library writes
	Skipped int      // how many entries were too long to be read
	next    string
}

// Next is where the next part begins. It reports false after the last part.
func (p SessionPage) Next() (from string, more bool) { return p.next, p.next != "0" }

// SessionRead reads a part of a client's session. The first part begins at "0", any other at
// SessionPage.Next.
func SessionRead(client, from string) Call {
	return sessionReadScript.call(1, protocol.SessionKey(client), from, strconv.Itoa(sessionPage),
		strconv.Itoa(longestField), strconv.Itoa(longestEntry))
}

// ReadSession reads the reply of SessionRead. It trusts nothing in it, because anybody may have
// written it. A lease of more than an hour is read as an hour.
func ReadSession(r driver.Reply) (SessionPage, error) {
	all, err := list(sessionReadScript, r, 3, 2)
	page := SessionPage{next: all[0].Str, Skipped: int(all[1].Int), Pulse: all[2].Str}
	if len(page.Pulse) > protocol.MaxClientLen {
		page.Pulse = ""
	}
	for pair := range slices.Chunk(all[3:], 2) {
		field, lock, named := protocol.ParseSessionField(pair[0].Str)
		read, count, lease, until, written := protocol.ParseSessionEntry(pair[1].Str)
		if !named || !written {
			page.Odd = append(page.Odd, pair[0].Str)
			continue
		}
		e := SessionEntry{Field: field, Lock: lock, Read: read, Count: count, Lease: duration(lease)}
		if until != 0 {
			e.Until = moment(until)
		}
		page.Entries = append(page.Entries, e.Bounded())
	}
	return page, err
}
