package cluster_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/driver"
)

// Goal: the target of a migrating slot has one address, the one by which clients are told to
// call it. Method: CLUSTER NODES as Redis 7 writes it where clients connect by hostnames, by
// addresses, or by the host that they know; commands are told by ASK as well.
func TestTheTargetOfAnOpenSlotHasTheNameThatClientsUse(t *testing.T) {
	t.Parallel()
	for _, nodes := range []string{
		"one 10.0.0.1:1@11,a myself,master - 0 0 1 connected 0-8191 [%d->-three]\n" +
			"two 10.0.0.2:2@12,b master - 0 0 2 connected 8192-16383\nthree 10.0.0.3:3@13,c master - 0 0 3 connected\n",
		"one a:1@11,wrong.example myself,master - 0 0 1 connected 0-8191 [%d->-three]\n" +
			"two b:2@12, master - 0 0 2 connected 8192-16383\nthree c:3@13,other.example,shard-id=x master - 0 0 3 connected\n",
		"one :1@11 myself,master - 0 0 1 connected 0-8191 [%d->-three]\n" +
			"two b:2@12 master - 0 0 2 connected 8192-16383\nthree c:3@13 master - 0 0 3 connected\n",
	} {
		synctest.Test(t, func(t *testing.T) {
			all := twoFakes()
			channel := keyOf(false)
			slot := driver.Slot(channel)
			all.set("a:1", func(f *fake) {
				f.nodes = fmt.Sprintf(nodes, slot)
				f.answer = func([]string) driver.Reply {
					return driver.Reply{Err: &driver.ServerError{Message: fmt.Sprintf("ASK %d c:3", slot)}}
				}
			})
			d := all.open(t)
			r := listenAndWait(t, d, channel)
			for range 50 {
				do(t, d, "GET", channel)
				time.Sleep(100 * ms)
			}
			if n := strings.Count(fmt.Sprint(all.asked("c:3")), "SSUBSCRIBE "+channel); n != 1 {
				t.Errorf("the target was asked for the channel %d times, want once", n)
			}
			all.mu.Lock()
			for address, n := range all.dialled {
				if all.servers[address] == nil {
					t.Errorf("%s was dialled %d times", address, n)
				}
			}
			all.mu.Unlock()
			r.Close()
			d.Close()
		})
	}
}
