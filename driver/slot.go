package driver

import "strings"

// Slots is the number of hash slots of a Redis Cluster.
const Slots = 16384

// Slot is the hash slot of a key: the CRC16 of its hash tag, modulo Slots. The hash tag
// stands between the first opening brace and the next closing one. A key without a tag,
// or with an empty one, is hashed as a whole. Source: the Redis Cluster specification.
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
