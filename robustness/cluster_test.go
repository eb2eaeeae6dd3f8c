package robustness

import (
	"slices"
	"strings"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/redistest"
)

// clusterFailover: masters of a cluster are killed or frozen under load, or hand over in an
// orderly way. Every level has locks at each of them.
func clusterFailover(d *drill) {
	c := redistest.StartCluster(d, 3, 1)
	keys := make([]string, 3) // by third of the slots: a replica may have taken over already
	for slices.Contains(keys, "") {
		key := redistest.Name(d)
		keys[driver.Slot(key)*len(keys)/driver.Slots] = key
	}
	d.begin(levels(1), keys, d.byURL("redis+cluster://"+strings.Join(c.Addrs(), ",")))
	d.rounds(func() {
		switch key := keys[d.random.IntN(len(keys))]; d.random.IntN(4) {
		case 0:
			c.FailOver(d, key)
		case 1:
			d.replace(c, key, (*redistest.Server).Freeze, (*redistest.Server).Thaw)
		default:
			d.replace(c, key, (*redistest.Server).Kill, func(old *redistest.Server) { old.Restart(d) })
		}
		c.AwaitReady(d)
		d.pause(lease/2, lease)
	}, nothing)
	d.end()
}

// replace hurts a master until its replica has taken over.
func (d *drill) replace(c *redistest.Cluster, key string, hurt, repair func(*redistest.Server)) {
	old := c.Master(d, key)
	hurt(old)
	c.AwaitNewMaster(d, key, old)
	d.pause(0, time.Second)
	repair(old)
}
