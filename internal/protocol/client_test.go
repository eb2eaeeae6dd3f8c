package protocol_test

import (
	"strings"
	"testing"

	"github.com/redlatch/redlatch/internal/protocol"
)

const someClient = "00000000-0000-4000-8000-00000000002a"

func TestAConnectionNameIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"billing@web-3:4711", "a", "::", strings.Repeat("~", protocol.MaxClientName)} {
		text := protocol.ConnectionName(someClient, name)
		if client, got, ok := protocol.ParseConnectionName(text); !ok || client != someClient || got != name {
			t.Errorf("%q is read as %q, %q, %v", text, client, got, ok)
		}
	}
	for _, text := range []string{
		"", "redlatch", "redlatch:", "redlatch:" + someClient, "redlatch:" + someClient + ":",
		"redlatch:" + someClient + "x:name", "Redlatch:" + someClient + ":name", "jedis:" + someClient + ":name",
	} {
		if client, name, ok := protocol.ParseConnectionName(text); ok {
			t.Errorf("%q is read as %q, %q", text, client, name)
		}
	}
}

func TestANameOfAClientHasVisibleASCIIOnly(t *testing.T) {
	t.Parallel()
	for name, clean := range map[string]string{
		"billing@web-3:4711":     "",
		"two words":              "two-words",
		"line\nbreak":            "line-break",
		"\x00\x7f":               "--",
		"schlüssel":              "schl-ssel",
		"\xff":                   "-",
		strings.Repeat("x", 129): strings.Repeat("x", 128),
		strings.Repeat("é", 129): strings.Repeat("-", 128),
	} {
		if err := protocol.CheckClientName(name); (err == nil) != (clean == "") {
			t.Errorf("CheckClientName(%q) is %v", name, err)
		}
		if got := protocol.CleanClientName(name); clean != "" && got != clean || protocol.CheckClientName(got) != nil {
			t.Errorf("CleanClientName(%q) is %q, want %q", name, got, clean)
		}
	}
}
