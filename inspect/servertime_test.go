package inspect

import (
	"testing"
	"time"
)

// Goal: a reply that was long on its way makes no event. Method: this machine saw a second reading five
// seconds after the first, and the server did it one second after.
func TestALateReplyIsNoRenewal(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	at := func(seen, server, ttl time.Duration) []Lock {
		return []Lock{{Name: "job", Mode: "exclusive", TTL: ttl, Holders: []Holder{{Owner: "a:1", Count: 1, TTL: ttl}}, Seen: began.Add(seen), serverTime: began.Add(server)}}
	}
	first, second := at(0, 0, 30*time.Second), at(5*time.Second, time.Second, 29*time.Second)
	if events := Diff(first, second, began); len(events) > 0 {
		t.Errorf("%+v", events)
	}
}
