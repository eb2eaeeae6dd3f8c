package docs_test

import (
	"os"
	"strings"
	"testing"

	"github.com/redlatch/redlatch/internal/protocol"
)

// Goal: the page on the wire format has every key and channel, as package protocol writes it.
func TestTheWireFormatHasEveryKey(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("wire-format.md")
	must(t, err)
	for _, name := range []string{
		protocol.LockChannel("job"),
		protocol.FairQueue("job"),
		protocol.FairDeadlines("job"),
		protocol.FairBeats("job"),
		protocol.RWChannel("job"),
		protocol.TokenKey("job"),
		protocol.ReadTimeoutKey("job", "owner", 1),
		protocol.WriterField("clientUUID:number"),
		protocol.Sessions,
		protocol.SessionKey("client"),
		protocol.PulseChannel("client", "name"),
		protocol.Watchdogs,
	} {
		if !strings.Contains(string(text), "`"+name+"`") && !strings.Contains(string(text), "`"+name+":") {
			t.Errorf("the page lacks %s", name)
		}
	}
}
