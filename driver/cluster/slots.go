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
// ends, its master and its replicas, of whom each is an array that begins with host and
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

// join makes an address of a host and a port. A server that does not know its own host,
// or is not to tell it, means the one under which it was asked.
func join(host, port, asked string) string {
	if host == "" || host == "?" {
		if own, _, err := net.SplitHostPort(asked); err == nil {
			host = own
		}
	}
	return net.JoinHostPort(host, port)
}

// parseEpoch reads the cluster's epoch out of the answer to CLUSTER INFO. A server that
// does not tell has none, and is believed when nobody else knows better.
func parseEpoch(reply driver.Reply) int64 {
	for line := range strings.Lines(reply.Str) {
		if number, ok := strings.CutPrefix(line, "cluster_current_epoch:"); ok {
			epoch, _ := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
			return epoch
		}
	}
	return 0
}

// redirection is what a server said who else has a slot.
type redirection struct {
	slot    int
	address string
	asking  bool // for this once: the slot is on its way
}

// parseRedirection reads an error of the server at asked, such as
// "MOVED 3999 127.0.0.1:6381". It is false for any other.
func parseRedirection(err error, asked string) (redirection, bool) {
	var refused *driver.ServerError
	if err == nil || !errors.As(err, &refused) {
		return redirection{}, false
	}
	words := strings.Fields(refused.Message)
	if len(words) < 3 || words[0] != "MOVED" && words[0] != "ASK" {
		return redirection{}, false
	}
	slot, err := strconv.Atoi(words[1])
	address, ok := parseAddress(words[2], asked)
	if err != nil || slot < 0 || slot >= driver.Slots || !ok {
		return redirection{}, false
	}
	return redirection{slot, address, words[0] == "ASK"}, true
}

// parseAddress reads host:port, where the host may be IPv6 without brackets.
func parseAddress(text, asked string) (address string, ok bool) {
	colon := strings.LastIndexByte(text, ':')
	if colon < 0 || colon == len(text)-1 {
		return "", false
	}
	return join(strings.Trim(text[:colon], "[]"), text[colon+1:], asked), true
}

// openMark is how a server marks a slot of its own that is on its way to another one.
var openMark = regexp.MustCompile(`\[(\d+)->-(\w+)\]`)

// parseOpenSlots reads the answer of the server at asked to CLUSTER NODES: which slots are
// on their way from it.
func parseOpenSlots(text, asked string) (open []redirection) {
	text = "\n" + text
	for _, found := range openMark.FindAllStringSubmatch(text, -1) {
		slot, err := strconv.Atoi(found[1])
		_, line, known := strings.Cut(text, "\n"+found[2]+" ")
		before, _, _ := strings.Cut(text, " myself")
		_, own, _ := strings.Cut(before[strings.LastIndexByte(before, '\n')+1:], " ")
		address, ok := parseEndpoint(line, own, asked)
		if err == nil && slot < driver.Slots && known && ok {
			open = append(open, redirection{slot, address, true})
		}
	}
	return open
}

// endpoint is how a line of CLUSTER NODES goes on behind the id: "host:port@bus,hostname".
var endpoint = regexp.MustCompile(`^\[?(\S*?)\]?:(\d+)@\d*(?:,([^,\s]*))?`)

// parseEndpoint reads the address of a server, in the form that clients are given by the
// server at asked. That is a hostname, a host, or nothing, where they are to use the host
// that they know. Which form it is shows by own, the endpoint of the server itself.
func parseEndpoint(text, own, asked string) (address string, ok bool) {
	target, self := endpoint.FindStringSubmatch(text), endpoint.FindStringSubmatch(own)
	if target == nil {
		return "", false
	}
	host, known := target[1], ""
	if at, _, err := net.SplitHostPort(asked); err == nil {
		known = at
	}
	switch {
	case self == nil || self[1] == "" || self[1] == known:
	case self[3] != known:
		host = ""
	case target[3] != "":
		host = target[3]
	}
	return join(host, target[2], asked), true
}
