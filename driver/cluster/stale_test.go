package cluster_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/cluster"
	"github.com/redlatch/redlatch/driver/rueidis"
	"github.com/redlatch/redlatch/internal/redistest"
)

// Goal: a name that leads to another server by now is connected to again. Method: behind
// the name of one server there is a proxy, which has led to another one until now, and
// existing connections still lead there. That one answers MOVED to the same name.
func TestLongMovedToItsOwnNameLeadsToANewConnection(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, 0)
	named, wrong := c.Servers[0], c.Servers[1]
	front := redistest.NewProxy(t, wrong.Addr())
	d := openWith(t, cluster.Options{
		Addresses: []string{c.Servers[2].Addr()},
		Connect: func(ctx context.Context, address string) (driver.Driver, error) {
			if address == named.Addr() {
				address = front.Addr()
			}
			return rueidis.Open(ctx, rueidis.Options{Address: address})
		},
	})
	key := c.KeyAt(t, named)
	r := listen(t, d, key)
	if err := d.Do(t.Context(), command("INCR", key)).Err; !refusedWith(err, "TRYAGAIN") {
		t.Fatalf("error %v, want TRYAGAIN", err)
	}
	front.Redirect(named.Addr())
	redistest.Eventually(t, soon, func() bool {
		err := d.Do(t.Context(), command("INCR", key)).Err
		if err != nil && !refusedWith(err, "TRYAGAIN") {
			t.Logf("on the way: %v", err)
		}
		return err == nil
	}, "the server behind the name is found")
	r.Await(t, "+"+key, 1)
	r.Receives(t, d, "message", key)
}

// Goal: a server that goes on naming its own address is not stormed.
func TestANameThatKeepsLeadingToTheWrongServerIsNotStormed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all := twoFakes()
		d := all.open(t)
		key := keyOf(false)
		all.set("a:1", func(f *fake) { f.answer = func([]string) driver.Reply { return movedTo(key, "a:1") } })
		for begin := time.Now(); time.Since(begin) < 20*time.Second; time.Sleep(10 * ms) {
			d.Do(t.Context(), command("GET", key))
		}
		all.mu.Lock()
		dials := all.dialled["a:1"]
		all.mu.Unlock()
		if dials < 5 || dials > 22 {
			t.Errorf("%d connections within 20 s", dials)
		}
		d.Close()
	})
}
