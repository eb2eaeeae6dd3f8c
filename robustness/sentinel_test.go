package robustness

import (
	"context"
	"net"
	"strings"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/rueidis"
	"github.com/redlatch/redlatch/driver/sentinel"
	"github.com/redlatch/redlatch/internal/redistest"
)

// primaryKilled: kill -9 of the primary under load, and a replica takes over. The dead one
// comes back empty, as a replica.
func primaryKilled(d *drill) {
	s := redistest.StartSentinels(d)
	d.begin(levels(2), d.names(), d.byURL("redis+sentinel://"+strings.Join(s.Addrs(), ",")+"/"+s.Name))
	d.rounds(func() {
		old := s.Primary(d)
		old.Kill()
		next := s.AwaitFailover(d, old)
		d.pause(0, time.Second)
		old.Restart(d)
		follow(d, old, next)
		d.pause(lease/2, lease)
	}, nothing)
	d.end()
}

// primaryCutOff: replicas and sentinels lose the primary, the clients do not. It goes on
// granting until they hear of the new one.
func primaryCutOff(d *drill) {
	s := redistest.StartSentinels(d)
	past := make(map[string]string) // the way to each server that no cut concerns
	for _, m := range s.Members {
		past[m.Addr()] = m.Server.Addr()
	}
	dial := func(ctx context.Context, address string) (net.Conn, error) {
		if direct, ok := past[address]; ok {
			address = direct
		}
		return new(net.Dialer).DialContext(ctx, "tcp", address)
	}
	d.begin(levels(2), d.names(), func(cfg redlatch.Config) client {
		return d.on(cfg, func() (driver.Driver, error) {
			return sentinel.Open(d.Context(), sentinel.Options{
				Sentinels: s.Addrs(), Master: s.Name,
				Node: rueidis.Options{CommandTimeout: cfg.CommandTimeout, Dial: dial},
			})
		})
	})
	d.rounds(func() {
		old := s.Primary(d)
		old.Front.Blackhole(true)
		next := s.AwaitFailover(d, old)
		d.pause(time.Second, lease)
		old.Front.Blackhole(false)
		follow(d, old, next)
		d.pause(lease/2, lease)
	}, d.overlapped)
	d.end()
	d.mustOverlap()
}
