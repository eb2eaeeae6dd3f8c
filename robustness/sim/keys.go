package sim

import (
	"slices"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/embedded"
)

// becomeReplica gives the server the keys of its replica.
func (s *redis) becomeReplica() { s.mini.Replace(s.replica()) }

// replica are the keys of its replica, without those whose time is over, or whose slot another server
// has by now.
func (s *redis) replica() (left []embedded.Key) {
	left = aged(s.copied, s.tick().Sub(s.copiedAt))
	return slices.DeleteFunc(left, func(k embedded.Key) bool {
		return s.member != nil && s.member.owner(driver.Slot(k.Name)) != s
	})
}

// aged are the keys of which something is left when some time has passed.
func aged(keys []embedded.Key, passed time.Duration) (left []embedded.Key) {
	for _, k := range keys {
		if k.TTL != embedded.None {
			if k.TTL -= passed; k.TTL <= 0 {
				continue
			}
		}
		left = append(left, k)
	}
	return left
}
