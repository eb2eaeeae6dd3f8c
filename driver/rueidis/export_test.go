package rueidis

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

// Sidings is the number of connections for commands apart.
const Sidings = sidings

// IsReadOnly recognizes the refusal of a replica.
var IsReadOnly = isReadOnly

// Follow has a guard follow a text in pieces of a size.
func Follow(text string, size int) (whole int64, err error) {
	var s stream
	for piece := range slices.Chunk([]byte(text), size) {
		if err := s.take(piece); err != nil {
			return s.whole, err
		}
	}
	return s.whole, nil
}

// Count counts requests that are written in pieces of a size.
func Count(text string, size int) (n int64) {
	var t tally
	for piece := range slices.Chunk([]byte(text), size) {
		n = t.take(piece)
	}
	return n
}
