package rueidis

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
