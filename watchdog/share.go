package watchdog

import (
	"crypto/sha256"
	"encoding/binary"
)

// serves says whether the watchdog id is the one among alive that serves a client: the
// one with the highest hash of both. All who know the same living agree on it without a
// word, each gets about the same share, and only the clients of one that dies change
// hands. A watchdog is always alive to itself.
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
