package driver

import "strings"

// Slots is the number of hash slots of a Redis Cluster.
const Slots = 16384

// Slot is the hash slot of a key: the CRC16 of its hash tag, which is what stands
// between the first opening brace and the next closing one, or of the whole key if it
// has no tag or an empty one. Source: the Redis Cluster specification.
func Slot(key string) int {
	if _, rest, ok := strings.Cut(key, "{"); ok {
		if tag, _, ok := strings.Cut(rest, "}"); ok && tag != "" {
			key = tag
		}
	}
	var crc uint16
	for i := range len(key) {
		crc ^= uint16(key[i]) << 8
		for range 8 {
			carry := crc & 0x8000
			crc <<= 1
			if carry != 0 {
				crc ^= 0x1021 // CRC-16/XMODEM
			}
		}
	}
	return int(crc % Slots)
}
