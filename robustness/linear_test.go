package robustness

import (
	"time"

	"github.com/redlatch/redlatch/robustness/histories"
)

// checkOrder fails a drill of a level that promises exclusion or growing tokens, if no order of its
// grants, releases and losses explains what the holders were told. It keeps a picture.
func (d *drill) checkOrder(l level, spans []span) {
	d.Helper()
	if !l.exclusive && !l.growing {
		return
	}
	var operations []histories.Operation
	for i, s := range spans {
		grant := histories.Operation{Lock: s.lock, Verb: histories.Acquire, Owner: i + 1, Call: s.asked, Return: s.granted}
		over := histories.Operation{Lock: s.lock, Verb: histories.Release, Owner: i + 1, Call: max(s.granted, s.sure)}
		over.Return = over.Call
		if !l.exclusive {
			grant.Read, over.Read = true, true // only the tokens have an order
		}
		if l.growing {
			grant.Token = s.token
		}
		operations = append(operations, grant, over)
	}
	v, err := histories.Check(operations, 10*time.Second)
	if err != nil {
		d.Fatal(err)
	}
	if len(v.Open) > 0 {
		d.Errorf("%s: not checked within its time: %q", l.name, v.Open)
	}
	if len(v.Wrong) > 0 {
		d.Errorf("%s: no order explains what holders of %q were told; see %s\n%s", l.name, v.Wrong, v.Picture, v.Story)
	}
}
