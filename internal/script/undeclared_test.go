package script_test

import (
	"strings"
	"testing"
)

// Scripts that touch keys which nobody can declare say so in the way that Dragonfly reads: in
// their first line.
func TestScriptsSayThatTheyTouchUndeclaredKeys(t *testing.T) {
	t.Parallel()
	said := 0
	for _, call := range oneOfEach("k") {
		source := call.Source()
		says := strings.HasPrefix(source, "--!df flags=allow-undeclared-keys\n")
		if touches := strings.Contains(source, "'EXISTS', prefix") || strings.Contains(source, "prefix .. ':'"); touches != says {
			t.Errorf("%s: it touches undeclared keys: %v, and says so: %v", call.Script(), touches, says)
		}
		if says {
			said++
		}
	}
	if said != 5 {
		t.Errorf("%d scripts say so, want those of the read-write lock and inspect: 5", said)
	}
}
