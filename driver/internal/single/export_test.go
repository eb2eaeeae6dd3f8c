package single

import "slices"

// Queued is the number of places taken in the queue of the driver's link.
func Queued(d *Driver) int {
	if link := d.link.Load(); link != nil {
		return len(link.queue.taken)
	}
	return 0
}

// Places is the size of that queue.
const Places = places

// MaxDedicated is the number of dedicated links.
const MaxDedicated = maxDedicated

// IsReadOnly recognizes the refusal of a replica.
var IsReadOnly = isReadOnly

// Follow has a guard follow a text in pieces of a size.
func Follow(text string, size int) (whole int64, err error) {
	var s replyScanner
	for piece := range slices.Chunk([]byte(text), size) {
		if err := s.scan(piece); err != nil {
			return s.whole, err
		}
	}
	return s.whole, nil
}

// Count counts requests that are written in pieces of a size.
func Count(text string, size int) (n int64) {
	var s requestScanner
	for piece := range slices.Chunk([]byte(text), size) {
		n = s.scan(piece)
	}
	return n
}
