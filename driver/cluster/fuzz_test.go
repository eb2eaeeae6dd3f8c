package cluster

import (
	"encoding/json"
	"net"
	"strings"
	"testing"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/internal/drivercheck"
)

func FuzzRedirection(f *testing.F) {
	for _, text := range []string{
		"MOVED 3999 127.0.0.1:6381", "ASK 1 :7", "MOVED 16383 2001:db8::2:6379", "MOVED 1 ?:2", "ASK -1 a:1",
		"MOVED 16384 a:1", "MOVED 1 a", "MOVED", "MOVED 99999999999999999999 a:1", "TRYAGAIN x",
	} {
		f.Add(text, "host:1")
	}
	f.Fuzz(func(t *testing.T, text, asked string) {
		to, ok := parseRedirection(&driver.ServerError{Message: text}, asked)
		if !ok {
			return
		}
		if _, _, err := net.SplitHostPort(to.address); to.slot < 0 || to.slot >= driver.Slots ||
			err != nil && !strings.ContainsAny(text, "[]") {
			t.Errorf("%q has the slot %d and the address %q", text, to.slot, to.address)
		}
	})
}

// FuzzSlots reads replies that are written as JSON: numbers, texts, and arrays of them.
func FuzzSlots(f *testing.F) {
	for _, text := range []string{
		`[[0,5460,["127.0.0.1",7000,"id",[]],["127.0.0.1",7003,"id",[]]],[5461,16383,["",7001]]]`,
		`[[0,16384,["a",1]]]`, `[[5,4,["a",1]]]`, `[[-1,4,["a",1]]]`, `[[0,1]]`, `[[0,1,[]]]`, `[]`, `1`, `"x"`, `[[0,1,["a"]]]`, `[["a","b","c"]]`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var value any
		if json.Unmarshal([]byte(text), &value) != nil {
			return
		}
		spans, err := parseSlots(drivercheck.ReplyOf(value), "host:1")
		if (err == nil) != (len(spans) > 0) {
			t.Errorf("%s: %v and %v", text, spans, err)
		}
		for _, s := range spans {
			if s.first < 0 || s.last < s.first || s.last >= driver.Slots {
				t.Errorf("%s: slots %d to %d", text, s.first, s.last)
			}
		}
	})
}

const nodesText = "07c37d 127.0.0.1:30004@31004,hostname4 slave e7d1ee 0 1426238317239 4 connected\n" +
	"e7d1ee :30001@31001 myself,master - 0 0 1 connected 0-5460 [93-<-292f8b] [77->-67ed2d] [78->-nobody]\n" +
	"67ed2d 2001:db8::2:30002@31002 master - 0 1426238316232 2 connected 5461-10922\n"

func TestMigratingSlotsAreRead(t *testing.T) {
	t.Parallel()
	slots := parseMigratingSlots(nodesText, "host:1")
	if len(slots) != 1 || slots[0] != (redirection{77, "[2001:db8::2]:30002", true}) {
		t.Errorf("%+v", slots)
	}
}

func FuzzMigratingSlots(f *testing.F) {
	f.Add(nodesText, "cluster_current_epoch:7\r\n")
	f.Add("[1->-a]\na :1@2", "cluster_current_epoch:-1")
	f.Add("[99999999999999999999->-a]\na x@", "cluster_current_epoch:99999999999999999999")
	f.Fuzz(func(t *testing.T, nodes, info string) {
		for _, to := range parseMigratingSlots(nodes, "host:1") {
			if to.slot < 0 || to.slot >= driver.Slots || !to.asking {
				t.Errorf("%q: %+v", nodes, to)
			}
		}
		parseEpoch(driver.Reply{Str: info})
	})
}
