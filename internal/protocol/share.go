package protocol

import (
	"crypto/sha256"
	"encoding/binary"
)

// Serving is the watchdog that serves a client: the one with the highest hash of both. It is "" if
// there is none. Watchdogs that know of the same others agree on that without a message, and each
// gets about the same share. If one dies, only its clients go to others.
func Serving(watchdogs []string, client string) (id string) {
	var highest uint64
	for _, watchdog := range watchdogs {
		if w := weight(watchdog, client); id == "" || w > highest {
			id, highest = watchdog, w
		}
	}
	return id
}

func weight(watchdog, client string) uint64 {
	sum := sha256.Sum256([]byte(watchdog + " " + client))
	return binary.BigEndian.Uint64(sum[:8])
}
