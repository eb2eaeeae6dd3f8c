package main

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/redistest"
)

// Goal: an operator can read and free each lock that ls prints, whatever its name. Method: give the names back as
// they are printed.
func TestEachNameThatIsListedIsAnArgument(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	env := commandEnv(t, server)
	names := []string{
		"job", "a b", "two  spaces", "a\nb", "a\tb", "\x1b[2Jjob", "nul\x00nul", "\xff\xfe", "del\x7f", "\u202etxt", `say "hi"`, `"a b"`, `"job"`, "`job`",
		`back\slash`, `a\nb`, "-job", "--", "{x}", "{x", "x}", "{}", "it's", "any*", "[a]", strings.Repeat("long", 20), strings.Repeat("x", 2000), strings.Repeat("é ", 800),
	}
	slices.Sort(names)
	for _, name := range names {
		server.CLI(t, "HSET", name, someOwner, "1")
		server.CLI(t, "PEXPIRE", name, "3600000")
	}
	text, _ := askWith(t, env, "ls", "--json")
	var read []string
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		var l struct{ Lock string }
		redistest.Must(0, json.Unmarshal([]byte(line), &l))
		read = append(read, protocol.ParseWord(l.Lock))
	}
	if slices.Sort(read); !slices.Equal(read, names) || strings.Contains(text, "\\u0000") {
		t.Errorf("as JSON they are %.2000q", read)
	}
	text, _ = askWith(t, env, "ls")
	_, text, _ = strings.Cut(text, "\n")
	for line := range strings.Lines(text) {
		word, err := strconv.QuotedPrefix(line)
		if err != nil || line[0] != '"' {
			word, _, _ = strings.Cut(line, " ")
		}
		for _, verb := range []string{"status", "wait -w 0", "show"} {
			said, code := askWith(t, env, append(strings.Fields(verb), "--", word)...)
			if code != map[bool]int{true: exitHeld}[verb == "wait -w 0"] || !strings.Contains(said, someOwner) {
				t.Errorf("%s %.100s: exit code %d, %.300s", verb, word, code, said)
			}
		}
		if said, code := askWith(t, env, "unlock", "--force", "--yes", "--if-owner", someOwner, "--", word); code != 0 {
			t.Errorf("unlock %.100s: exit code %d, %.300s", word, code, said)
		}
	}
	if left := server.CLI(t, "DBSIZE"); left != int64(0) {
		t.Errorf("%d locks are left: %.300q", left, server.CLI(t, "KEYS", "*"))
	}
}
