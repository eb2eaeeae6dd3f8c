package main

import (
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
)

// Goal: of a holder that was asked, the user learns what Redis shows. Method: what it shows, look by look.
func TestWhatBecameOfARequest(t *testing.T) {
	t.Parallel()
	holder := func(left time.Duration, told bool) redlatch.Holder {
		return redlatch.Holder{Owner: "o", Name: "n", TTL: left, Told: told}
	}
	for _, c := range []struct {
		looks []redlatch.Holder // none at the end: it holds the lock no more
		want  string            // in why, or "" for a lock that is given back
	}{
		{[]redlatch.Holder{holder(9, false), holder(8, false)}, "it is paused, its lease is fixed, or the wait was too short"},
		{[]redlatch.Holder{holder(9, false), holder(10, false), holder(8, false)}, "has renewed its lease: it is another implementation"},
		{[]redlatch.Holder{{Owner: "java", TTL: 9}}, "no connection of its process is known"},
		{[]redlatch.Holder{holder(9, false), holder(10, true)}, "knows of the request, and has not given it back"},
		{[]redlatch.Holder{holder(9, true), holder(8, false)}, "knows of the request, and has not given it back"}, // somebody else asks again
		{[]redlatch.Holder{holder(9, false), {}}, ""},
	} {
		a := &askedHolder{Holder: c.looks[0]}
		for _, h := range c.looks {
			a.follow(holderIn(redlatch.Status{Holders: []redlatch.Holder{h}}, a.Owner))
		}
		if a.back != (c.want == "") || !a.back && !strings.Contains(a.why(), c.want) {
			t.Errorf("%+v: given back: %v; it %s", c.looks, a.back, a.why())
		}
	}
}
