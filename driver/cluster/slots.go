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
// on their way from it. A line of another server begins with "id host:port@".
func parseOpenSlots(text, asked string) (open []redirection) {
	for _, found := range openMark.FindAllStringSubmatch(text, -1) {
		slot, err := strconv.Atoi(found[1])
		_, line, _ := strings.Cut("\n"+text, "\n"+found[2]+" ")
		where, _, known := strings.Cut(line, "@")
		address, ok := parseAddress(where, asked)
		if err == nil && slot < driver.Slots && known && ok {
			open = append(open, redirection{slot, address, true})
		}
	}
	return open
}
