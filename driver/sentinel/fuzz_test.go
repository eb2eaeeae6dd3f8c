package sentinel

import (
	"encoding/json"
	"net"
	"testing"

	"github.com/redlatch/redlatch/driver"
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
		a := readAnswer([]driver.Reply{replyOf(values[0]), replyOf(values[1]), replyOf(values[2])}, "self:1")
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

func replyOf(value any) driver.Reply {
	switch v := value.(type) {
	case float64:
		return driver.Reply{Int: int64(v)}
	case string:
		return driver.Reply{Str: v}
	case []any:
		var reply driver.Reply
		for _, element := range v {
			reply.Array = append(reply.Array, replyOf(element))
		}
		return reply
	}
	return driver.Reply{IsNil: true}
}
