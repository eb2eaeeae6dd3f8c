package cluster

import (
	"errors"
	"fmt"
	"net"
	"regexp"
	"strconv"
	"strings"

	"github.com/redlatch/redlatch/driver"
)

// span is a range of slots and the address of their master.
type span struct {
	first, last int
	address     string
}

// parseSlots reads the answer of the server at asked to CLUSTER SLOTS: for each range its
// ends, its master and its replicas, each of which is an array that begins with host and
// port.
func parseSlots(reply driver.Reply, asked string) ([]span, error) {
	if reply.Err != nil {
		return nil, reply.Err
	}
	spans := make([]span, 0, len(reply.Array))
	for _, entry := range reply.Array {
		if len(entry.Array) < 3 || len(entry.Array[2].Array) < 2 {
			return nil, fmt.Errorf("CLUSTER SLOTS has an entry of %d parts", len(entry.Array))
		}
		first, last, master := entry.Array[0].Int, entry.Array[1].Int, entry.Array[2].Array
		if first < 0 || last < first || last >= driver.Slots {
			return nil, fmt.Errorf("CLUSTER SLOTS has slots %d to %d", first, last)
		}
		spans = append(spans, span{int(first), int(last), join(master[0].Str, strconv.FormatInt(master[1].Int, 10), asked)})
	}
	if len(spans) == 0 {
		return nil, errors.New("it knows of no slots")
	}
	return spans, nil
}

// parseEpoch reads the cluster's epoch out of the answer to CLUSTER INFO. The epoch of a
// server that does not tell is 0, so that its slot map is taken if no other server answers.
func parseEpoch(reply driver.Reply) int64 {
	for line := range strings.Lines(reply.Str) {
		if number, ok := strings.CutPrefix(line, "cluster_current_epoch:"); ok {
			epoch, _ := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
			return epoch
		}
	}
	return 0
}

// migratingMark is how a server marks a slot of its own that is migrating to another one.
var migratingMark = regexp.MustCompile(`\[(\d+)->-(\w+)\]`)

// parseMigratingSlots reads the answer of the server at asked to CLUSTER NODES: which slots
// are migrating from it.
func parseMigratingSlots(text, asked string) (migrating []redirection) {
	text = "\n" + text
	for _, found := range migratingMark.FindAllStringSubmatch(text, -1) {
		slot, err := strconv.Atoi(found[1])
		_, line, known := strings.Cut(text, "\n"+found[2]+" ")
		before, _, _ := strings.Cut(text, " myself")
		_, own, _ := strings.Cut(before[strings.LastIndexByte(before, '\n')+1:], " ")
		address, ok := parseEndpoint(line, own, asked)
		if err == nil && slot < driver.Slots && known && ok {
			migrating = append(migrating, redirection{slot, address, true})
		}
	}
	return migrating
}

// endpoint is how a line of CLUSTER NODES goes on behind the id: "host:port@bus,hostname".
var endpoint = regexp.MustCompile(`^\[?(\S*?)\]?:(\d+)@\d*(?:,([^,\s]*))?`)

// parseEndpoint reads the address of a server, in the form that the server at asked gives to
// its clients: a hostname, a host, or nothing, which means the host that the client knows. The
// endpoint of the server itself, own, shows which form it is.
func parseEndpoint(text, own, asked string) (address string, ok bool) {
	target, self := endpoint.FindStringSubmatch(text), endpoint.FindStringSubmatch(own)
	if target == nil {
		return "", false
	}
	host := target[1]
	known, _, _ := net.SplitHostPort(asked)
	switch {
	case self == nil || self[1] == "" || self[1] == known:
	case self[3] != known:
		host = ""
	case target[3] != "":
		host = target[3]
	}
	return join(host, target[2], asked), true
}
