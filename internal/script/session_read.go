package script

import (
	"strconv"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/protocol"
)

// The bounds of a record that is read. What is longer, no client of this library writes.
const (
	sessionPage     = 500  // entries that one script returns, roughly
	longestField    = 2048 // a lock's name and an owner, in bytes
	longestEntry    = 128
	longestLease    = time.Hour // a longer one is taken for this
	longestLeaseMil = int64(longestLease / time.Millisecond)
)

// SessionPage is a part of a client's session.
type SessionPage struct {
	Pulse   string // that the session names; "" for none
	Entries []SessionEntry
	Odd     []string // the keys of entries that no version of this library writes
	Skipped int      // how many entries were too long to be read
	next    string
}

// Next is where the next part begins. It reports false if this was the last.
func (p SessionPage) Next() (from string, more bool) { return p.next, p.next != "0" }

// SessionRead reads a part of a client's session: the first one from "0", any other from
// what SessionPage.Next says.
func SessionRead(client, from string) Call {
	return sessionReadScript.call(1, protocol.SessionKey(client), from, strconv.Itoa(sessionPage),
		strconv.Itoa(longestField), strconv.Itoa(longestEntry))
}

// ReadSession reads the reply of SessionRead. It trusts nothing of it: each entry is what
// its client wrote, whoever that is. A lease of more than an hour is read as an hour.
func ReadSession(r driver.Reply) (SessionPage, error) {
	if r.Err != nil {
		return SessionPage{}, r.Err
	}
	if len(r.Array) < 3 || len(r.Array)%2 == 0 || r.Array[0].Str == "" {
		return SessionPage{}, unexpected(sessionReadScript, r)
	}
	page := SessionPage{next: r.Array[0].Str, Skipped: int(r.Array[1].Int), Pulse: r.Array[2].Str}
	if len(page.Pulse) > protocol.MaxClientLen {
		page.Pulse = ""
	}
	for i := 3; i < len(r.Array); i += 2 {
		key := r.Array[i].Str
		field, lock, named := protocol.ParseSessionField(key)
		v, written := protocol.ParseSessionEntry(r.Array[i+1].Str)
		if !named || !written {
			page.Odd = append(page.Odd, key)
			continue
		}
		lease := time.Duration(min(v.LeaseMillis, longestLeaseMil)) * time.Millisecond
		e := SessionEntry{Field: field, Lock: lock, Read: v.Read, Count: v.Count, Lease: lease}
		if v.UntilMillis != 0 {
			e.Until = time.UnixMilli(v.UntilMillis)
		}
		page.Entries = append(page.Entries, e)
	}
	return page, nil
}
