package protocol

import (
	"strconv"
	"strings"
)

// WaitsKey is the hash of what a protected client waits for: SessionField of the owner and the lock, to
// WaitEntry. It lies in the slot of the session. Redisson does not know it, and no watchdog reads it.
func WaitsKey(client string) string { return SessionKey(client) + ":waits" }

// The modes of a wait.
const (
	WaitExclusive = "exclusive"
	WaitFair      = "fair"
	WaitRead      = "read"
	WaitWrite     = "write"
)

// MaxUnder is how many holds a WaitEntry names.
const MaxUnder = 4

// WaitEntry is how an owner waits.
type WaitEntry struct {
	Mode string
	// The wait went on from Since to Confirmed, at least. Both are in milliseconds, by the server's clock.
	// Confirmed is 0 if it is unknown: an older client wrote the entry.
	Since, Confirmed int64
	Under            []string // the owners under whose holds it waits, at most MaxUnder
}

// String writes an entry: "mode since-confirmed hold hold …". The holds are the numbers of their owners.
func (e WaitEntry) String() string {
	text := e.Mode + " " + strconv.FormatInt(e.Since, 10)
	if e.Confirmed != 0 {
		text += "-" + strconv.FormatInt(e.Confirmed, 10)
	}
	for _, owner := range e.Under[:min(len(e.Under), MaxUnder)] {
		if _, number, ok := ParseOwner(owner); ok {
			text += " " + strconv.FormatInt(number, 10)
		}
	}
	return text
}

// ParseWaitEntry is the reverse of WaitEntry.String, for a client. It reports false for a text that no
// client writes.
func ParseWaitEntry(client, text string) (e WaitEntry, ok bool) {
	words := strings.Split(text, " ")
	if len(words) < 2 || len(words) > 2+MaxUnder {
		return WaitEntry{}, false
	}
	switch e.Mode = words[0]; e.Mode {
	case WaitExclusive, WaitFair, WaitRead, WaitWrite:
	default:
		return WaitEntry{}, false
	}
	since, confirmed, both := strings.Cut(words[1], "-")
	e.Since, ok = parseMillis(since)
	if both && ok {
		e.Confirmed, ok = parseMillis(confirmed)
	}
	if !ok {
		return WaitEntry{}, false
	}
	for _, word := range words[2:] {
		number, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return WaitEntry{}, false
		}
		e.Under = append(e.Under, Owner(client, number))
	}
	return e, e.String() == text
}

// parseMillis reads a time in milliseconds since 1970.
func parseMillis(text string) (millis int64, ok bool) {
	millis, err := strconv.ParseInt(text, 10, 64)
	return millis, err == nil && millis >= 0 && millis <= MaxMillis
}

// MaxMillis is the last millisecond of the year 9999: later ones cannot be written in JSON.
const MaxMillis = 253402300799999

// OwnedBy says that an owner is one of a client.
func OwnedBy(client, owner string) bool {
	name, _, ok := ParseOwner(owner)
	return ok && name == client
}
