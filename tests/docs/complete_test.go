package docs_test

import (
	"os"
	"regexp"
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
		protocol.FairKeepAlives("job"),
		protocol.RWChannel("job"),
		protocol.TokenKey("job"),
		protocol.ReadTimeoutKey("job", "owner", 1),
		protocol.SemaphoreChannel("job"),
		protocol.PermitsInUse("job"),
		protocol.LatchChannel("job"),
		protocol.WriterField("clientUUID:number"),
		protocol.Sessions,
		protocol.SessionKey("client"),
		protocol.WaitsKey("client"),
		protocol.PulseChannel("client", "name"),
		protocol.Watchdogs,
	} {
		if !strings.Contains(string(text), "`"+name+"`") && !strings.Contains(string(text), "`"+name+":") {
			t.Errorf("the page lacks %s", name)
		}
	}
}

// Goal: the page on errors has every error that the library exports. Method: read errors.go.
func TestThePageOnErrorsHasEveryError(t *testing.T) {
	t.Parallel()
	code, err := os.ReadFile("../errors.go")
	must(t, err)
	page, err := os.ReadFile("errors.md")
	must(t, err)
	names := regexp.MustCompile(`(?m)^(?:\t(Err\w+) +=|type (\w+Error) )`).FindAllStringSubmatch(string(code), -1)
	if len(names) < 12 {
		t.Fatalf("errors.go has %d errors", len(names))
	}
	for _, name := range names {
		if !strings.Contains(string(page), "\n### "+name[1]+name[2]+"\n") {
			t.Errorf("the page lacks %s", name[1]+name[2])
		}
	}
}
