package redlatchtest

import (
	"net"
	"sync"
	"time"
)

// network carries bytes between the clients and the server. It can be slow or stand still.
type network struct {
	wires sync.WaitGroup // goroutines of all connections

	mu      sync.Mutex
	half    time.Duration // from one end to the other
	frozen  int           // calls of freeze that are not thawed
	thawed  chan struct{} // closed while nothing is frozen
	changed chan struct{} // closed, and made anew, when half changes
}

func newNetwork() *network {
	n := &network{thawed: make(chan struct{}), changed: make(chan struct{})}
	close(n.thawed)
	return n
}

// connect returns the client's end of a connection to the server.
func (n *network) connect(server net.Conn) net.Conn {
	client, ours := net.Pipe()
	n.wire(ours, server)
	n.wire(server, ours)
	return client
}

// chunk is what one Read returned.
type chunk struct {
	data []byte
	sent time.Time
}

// backlog is how many chunks are under way before the sender has to wait.
const backlog = 1024

// wire carries everything that arrives at one end to the other end, until the first one is closed.
func (n *network) wire(from, to net.Conn) {
	under := make(chan chunk, backlog)
	n.wires.Go(func() {
		defer close(under)
		for {
			data := make([]byte, 4096)
			count, err := from.Read(data)
			if count > 0 {
				under <- chunk{data[:count], time.Now()}
			}
			if err != nil {
				return
			}
		}
	})
	n.wires.Go(func() {
		for c := range under {
			n.travel(c.sent)
			_, _ = to.Write(c.data) // to nobody, if that end is closed
		}
		_ = to.Close()
		_ = from.Close()
	})
}

// travel waits until what was sent at that time may arrive.
func (n *network) travel(sent time.Time) {
	for {
		n.mu.Lock()
		left, thawed, changed := time.Until(sent.Add(n.half)), n.thawed, n.changed
		n.mu.Unlock()
		if left <= 0 {
			select {
			case <-thawed:
				return
			default:
				<-thawed
				continue // it may be frozen again
			}
		}
		timer := time.NewTimer(left)
		select {
		case <-timer.C:
		case <-changed:
			timer.Stop()
		}
	}
}

// freeze stops everything that is under way.
func (n *network) freeze() (thaw func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.frozen == 0 {
		n.thawed = make(chan struct{})
	}
	n.frozen++
	return sync.OnceFunc(func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		if n.frozen == 0 { // healed
			return
		}
		if n.frozen--; n.frozen == 0 {
			close(n.thawed)
		}
	})
}

// delay sets the time of a round trip.
func (n *network) delay(d time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.half = max(d, 0) / 2
	close(n.changed)
	n.changed = make(chan struct{})
}

// heal ends all faults.
func (n *network) heal() {
	n.delay(0)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.frozen > 0 {
		n.frozen = 0
		close(n.thawed)
	}
}

// wait waits until everything of the connections has ended. Both ends must be closed.
func (n *network) wait() { n.wires.Wait() }
