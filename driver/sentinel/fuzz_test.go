package sentinel

import (
	"encoding/json"
	"net"
	"testing"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/internal/drivercheck"
)

// FuzzAnswer reads the three replies of a sentinel, which are written as JSON.
func FuzzAnswer(f *testing.F) {
	for _, text := range []string{
		`[["127.0.0.1","6379"],["name","locks","config-epoch","3"],[["ip","127.0.0.1","port","26379"]]]`,
		`[["h",""],["config-epoch","-1"],[["ip"],[],1]]`, `[["h"],1,2]`, `[null,null,null]`, `[["a","b","c"],[],[]]`,
		`[["::1","1"],["config-epoch","99999999999999999999"],[["port","ip","ip"]]]`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var values []any
		if json.Unmarshal([]byte(text), &values) != nil || len(values) != 3 {
			return
		}
		a := readAnswer([]driver.Reply{drivercheck.ReplyOf(values[0]), drivercheck.ReplyOf(values[1]), drivercheck.ReplyOf(values[2])}, "self:1")
		if a.err != nil {
			return
		}
		for _, address := range append(a.others, a.primary) {
			if _, _, err := net.SplitHostPort(address); err != nil {
				t.Errorf("%s: address %q: %v", text, address, err)
			}
		}
		if a.epoch < 0 {
			t.Errorf("%s: epoch %d", text, a.epoch)
		}
	})
}
