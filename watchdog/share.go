package watchdog

import (
	"crypto/sha256"
	"encoding/binary"
)

// serves says whether the watchdog id is the one among alive that serves a client: the one with
// the highest hash of both. Watchdogs that know of the same others agree on that without a
// message, and each gets about the same share. If one dies, only its clients go to others. A
// watchdog always counts itself alive.
func serves(id string, alive []string, client string) bool {
	mine := weight(id, client)
	for _, other := range alive {
		if other != id && weight(other, client) > mine {
			return false
		}
	}
	return true
}

func weight(watchdog, client string) uint64 {
	sum := sha256.Sum256([]byte(watchdog + " " + client))
	return binary.BigEndian.Uint64(sum[:8])
}
