package protocol_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redlatch/redlatch/internal/protocol"
)

// Goal: whatever names somebody has written into Redis, a shell passes them on as they are, each as one
// argument, and carries out nothing of them. A name that looks like a flag stands behind "--".
func TestTheUnlockCommandCanBePasted(t *testing.T) {
	t.Parallel()
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no shell")
	}
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "redlatch"), []byte("#!"+sh+"\nprintf '%s|' \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"orders:7", "$(reboot)", "`reboot`", "a;reboot", "it's", `a"b`, `a\`, "a b", "*", "~", "-rf", "--yes", "#x", "!x", "鍵", "a|b>c&", "{x}",
	} {
		dashes := ""
		if strings.HasPrefix(text, "-") {
			dashes = "--|"
		}
		command := exec.CommandContext(t.Context(), sh, "-c", protocol.UnlockCommand(text, text))
		command.Env = []string{"PATH=" + bin}
		command.Dir = bin
		got, err := command.Output()
		if want := "unlock|--force|--if-owner|" + text + "|" + dashes + text + "|"; err != nil || string(got) != want {
			t.Errorf("%s: the shell passes on %q, %v; want %q", protocol.UnlockCommand(text, text), got, err, want)
		}
	}
}

func TestShellWord(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"order:7":                "order:7",
		"a b":                    "'a b'",
		"$(reboot)":              "'$(reboot)'",
		"it's; reboot":           `'it'\''s; reboot'`,
		"-n":                     "'-n'",
		"größe":                  "'größe'",
		"":                       "''",
		"a\nb":                   `'"a\nb"'`,
		"\x1b[2J":                `'"\x1b[2J"'`,
		"a\x9b2J":                `'"a\x9b2J"'`, // a terminal may obey the lone byte
		"a\u202eb":               `'"a\u202eb"'`,
		`"a b"`:                  `'"\"a b\""'`, // as it stands it is the name of another
		strings.Repeat("x", 201): "…",
	} {
		if got := protocol.ShellWord(text); got != want {
			t.Errorf("%.20q is %s, want %s", text, got, want)
		}
	}
}
