package redistest

import (
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
)

const (
	// lowestPort is the first of those that servers and proxies of tests have. All are below the ports that the kernel gives to
	// connections and to listeners that name none, so a port is still free when its server comes back. It is above 10080, which
	// browsers refuse.
	lowestPort = 11000
	// busOffset is what a server of a cluster adds to its port for talking to the others.
	busOffset = 10000
)

// reserved are the ports that this process has been given.
var reserved struct {
	sync.Mutex
	signs []net.PacketConn
}

// FreePort finds a port that nobody uses, nor the one with which a server of a cluster would go with it. It belongs to this
// process until its end: a server may leave it and come back. The sign of that, which other processes see, is that its UDP
// port is taken. No server here uses UDP.
func FreePort() (int, error) {
	for range 100 {
		port := lowestPort + rand.IntN(busOffset)
		sign, err := net.ListenPacket("udp", local(port))
		if err != nil {
			continue
		}
		if isFree(port) && isFree(port+busOffset) {
			reserved.Lock()
			defer reserved.Unlock()
			reserved.signs = append(reserved.signs, sign)
			return port, nil
		}
		_ = sign.Close()
	}
	return 0, errors.New("no port is free")
}

func isFree(port int) bool {
	listener, err := net.Listen("tcp", local(port))
	if err == nil {
		_ = listener.Close()
	}
	return err == nil
}

// local is the host:port of a port of the loopback interface.
func local(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
