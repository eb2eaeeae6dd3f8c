package robustness

import (
	"strings"
	"time"

	"github.com/redlatch/redlatch/internal/redistest"
)

// clusterFailover: masters of a cluster are killed under load, or hand over in an orderly
// way. Every level has locks at each of them.
func clusterFailover(d *drill) {
	c := redistest.StartCluster(d, 3, 1)
	var keys []string
	for _, master := range c.Servers[:3] {
		keys = append(keys, c.KeyAt(d, master))
	}
	d.begin(levels(1), keys, d.byURL("redis+cluster://"+strings.Join(c.Addrs(), ",")))
	killed := false
	d.rounds(func() {
		key := keys[d.random.IntN(len(keys))]
		if killed && d.random.IntN(3) == 0 {
			c.FailOver(d, key)
		} else {
			killed = true
			old := c.Master(d, key)
			old.Kill()
			c.AwaitNewMaster(d, key, old)
			d.pause(0, time.Second)
			old.Restart(d)
		}
		c.AwaitReady(d)
		d.pause(lease/2, lease)
	}, nothing)
	d.end()
}
