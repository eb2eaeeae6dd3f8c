package sentinel

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"

	"github.com/redlatch/redlatch/driver"
)

// errUnknownMaster is a sentinel that answers, but does not know the name.
var errUnknownMaster = errors.New("it knows no master of that name")

// answer is what a sentinel says.
type answer struct {
	primary string // host:port
	epoch   int64  // of the configuration
	// others are the sentinels that it knows, and itself.
	others []string
	err    error // nothing else is set when this is
}

// ask asks one sentinel.
func (s *sentinels) ask(ctx context.Context, address string) answer {
	master := s.options.Master
	replies, err := s.send(ctx, address, getPrimary(master), about("MASTER", master), about("SENTINELS", master))
	if err != nil {
		return answer{err: err}
	}
	return readAnswer(replies, address)
}

// getPrimary asks for the address by the one command that follows a failover at once: what
// SENTINEL MASTER says lags behind until the replicas have been told.
func getPrimary(master string) driver.Command { return about("GET-MASTER-ADDR-BY-NAME", master) }

func about(what, master string) driver.Command {
	return driver.Command{Words: []string{"SENTINEL", what, master}}
}

// readAnswer reads what the sentinel at address replied to the three commands of ask.
func readAnswer(replies []driver.Reply, address string) answer {
	primary, err := readPrimary(replies[0])
	if err != nil {
		return answer{err: fmt.Errorf("sentinel %s: %w", address, err)}
	}
	a := answer{primary: primary, others: []string{address}}
	if epoch, err := strconv.ParseInt(property(replies[1], "config-epoch"), 10, 64); err == nil {
		a.epoch = max(epoch, 0)
	}
	for _, other := range replies[2].Array {
		if address, ok := addressOf(property(other, "ip"), property(other, "port")); ok {
			a.others = append(a.others, address)
		}
	}
	return a
}

// readPrimary reads the reply to getPrimary.
func readPrimary(reply driver.Reply) (address string, err error) {
	switch {
	case reply.Err != nil:
		return "", reply.Err
	case reply.IsNil:
		return "", errUnknownMaster
	case len(reply.Array) != 2:
		return "", fmt.Errorf("unexpected reply of %d elements, not a host and a port", len(reply.Array))
	}
	host, port := reply.Array[0].Str, reply.Array[1].Str
	address, ok := addressOf(host, port)
	if !ok {
		return "", fmt.Errorf("unexpected reply %q %q, not a host and a port", host, port)
	}
	return address, nil
}

// addressOf joins a host and a port. It reports false if they are none.
func addressOf(host, port string) (address string, ok bool) {
	if _, err := strconv.ParseUint(port, 10, 16); err != nil || host == "" {
		return "", false
	}
	address = net.JoinHostPort(host, port)
	_, _, err := net.SplitHostPort(address)
	return address, err == nil
}

// property is a value of a map of properties, empty if it has none of that name.
func property(reply driver.Reply, name string) string {
	for i := 0; i+1 < len(reply.Array); i += 2 {
		if reply.Array[i].Str == name {
			return reply.Array[i+1].Str
		}
	}
	return ""
}
