package redlatchtest

import (
	"context"
	"encoding/hex"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/script"
)

// isSemaphore says that a key is the number of permits of a semaphore.
func (s *Server) isSemaphore(name string) bool {
	text, err := s.redis.Get(name)
	_, wrong := strconv.Atoi(text)
	return err == nil && wrong == nil
}

// permitsInUse are the ids of the permits in use whose lease is not over.
func (s *Server) permitsInUse(name string) []string {
	all, _ := s.redis.SortedSet(protocol.PermitsInUse(name)) // without the key there are none
	maps.DeleteFunc(all, func(_ string, until float64) bool { return until <= float64(time.Now().UnixMilli()) })
	return slices.Sorted(maps.Keys(all))
}

// losePermits puts the permit of one owner back, or all if owner is "". Waiters are told.
func (s *Server) losePermits(name, owner string) (held bool, err error) {
	permits := script.NewPermits(name, protocol.Plain)
	runner := script.NewRunner(s.operator.Driver(), closeWithin)
	for _, id := range s.permitsInUse(name) {
		one := hex.EncodeToString([]byte(id))
		if owner != "" && owner != one {
			continue
		}
		result, err := runner.Run(context.Background(), permits.Release(one, 0, script.Counts{}, 0))
		if err == nil {
			_, err = script.ReadReleased(result.Reply)
		}
		if err != nil {
			return held, err
		}
		held = true
	}
	return held, nil
}

// expirePermits lets the leases of all permits end now. It reports false if there are none.
func (s *Server) expirePermits(name string) bool {
	all := s.permitsInUse(name)
	past := float64(time.Now().Add(-time.Millisecond).UnixMilli())
	for _, id := range all {
		_, _ = s.redis.ZAdd(protocol.PermitsInUse(name), past, id)
	}
	return len(all) > 0
}
