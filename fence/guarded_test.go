package fence_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/redlatch/redlatch/internal/redistest"
)

// Goal: the header of the script is its contract. It names exactly the keys and
// arguments that the body uses, and the body touches no other key.
func TestTheHeaderOfTheScriptIsItsContract(t *testing.T) {
	t.Parallel()
	header, body := readScript(t)
	if !strings.HasPrefix(header, "-- guarded: ") {
		t.Error("the header does not begin with name and purpose")
	}
	numbered := regexp.MustCompile(`\b(?:KEYS|ARGV)\[\d+\]`)
	described := regexp.MustCompile(`(?m)^-- ((?:KEYS|ARGV)\[\d+)(?:\]|\+\]) +\S`)
	used := numbered.FindAllString(strings.ReplaceAll(body, "unpack(ARGV, 4)", "ARGV[4]"), -1)
	slices.Sort(used)
	var told []string
	for _, match := range described.FindAllStringSubmatch(header, -1) {
		told = append(told, match[1]+"]")
	}
	slices.Sort(told)
	if used = slices.Compact(used); !slices.Equal(told, used) {
		t.Errorf("the header describes %q, the body uses %q", told, used)
	}
	call := regexp.MustCompile(`redis\.p?call\(([^)]*)`)
	for _, match := range call.FindAllStringSubmatch(body, -1) {
		words := strings.Split(match[1], ", ")
		if command, key := words[0], words[1]; key != "fence" && (command != "command" || key != "key") {
			t.Errorf("%s is none of its keys, or not the guarded command", match[0])
		}
	}
}

func TestTheScriptLoads(t *testing.T) {
	t.Parallel()
	header, body := readScript(t)
	if reply, ok := redistest.Shared(t).CLI(t, "SCRIPT", "LOAD", header+body).(string); !ok || len(reply) != 40 {
		t.Errorf("loaded as %q", reply)
	}
}

func readScript(t *testing.T) (header, body string) {
	t.Helper()
	text, err := os.ReadFile("guarded.lua")
	must(t, err)
	header, body, found := strings.Cut(string(text), "\n\n")
	if !found || strings.Contains(header, "\nlocal ") {
		t.Fatal("the script has no header")
	}
	return header + "\n\n", body
}
