package explore

import (
	"testing"
	"time"
)

func TestWorlds(t *testing.T) {
	for _, one := range worlds {
		t.Run(one.name, func(t *testing.T) {
			trace = testing.Verbose()
			w, err := newWorld(one.name, mend)
			if err != nil {
				t.Fatal(err)
			}
			defer w.server.close()
			r := w.explore(Bound{Depth: 100, States: 5e6, Until: time.Now().Add(15 * time.Second)})
			t.Log(r)
			t.Log(len(w.server.all), "keys", len(w.server.requests))
			if r.Violation != nil {
				t.Fatal(r.Violation)
			}
		})
	}
}

var mend = Mutation{"renew", "    kept[i] = refused and -1 or 1", `    if here == 1 and writer ~= '' and holds == 0 and redis.call('HGET', lock, 'mode') == 'read' then
      refused = true
    end
    kept[i] = refused and -1 or 1`}

func far() time.Time { return time.Now().Add(time.Hour) }
