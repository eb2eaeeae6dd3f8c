package protocol_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/redlatch/redlatch/internal/protocol"
)

func TestShowQuotesWhatIsNoPrintableWord(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"00000000-0000-4000-8000-000000000000:7": "00000000-0000-4000-8000-000000000000:7",
		"order:1001":                             "order:1001",
		"{tag}schlüssel/鍵🔒":                      "{tag}schlüssel/鍵🔒",
		"":                                       `""`,
		"a worker":                               `"a worker"`,
		`say "hi"`:                               `"say \"hi\""`,
		`\x1b`:                                   `"\\x1b"`,
		"a\nb: free":                             `"a\nb: free"`,
		"\x1b[2Jjob":                             `"\x1b[2Jjob"`,
		"a\u009b2J":                              `"a\u009b2J"`,
		"x\u202etxt":                             `"x\u202etxt"`,
		"no\u00a0break":                          `"no\u00a0break"`,
		"\xff":                                   `"\xff"`,
		"\ufffd":                                 "\ufffd",
		strings.Repeat("x", 200):                 strings.Repeat("x", 200),
		strings.Repeat("x", 201):                 `"` + strings.Repeat("x", 200) + `"… (201 bytes)`,
		strings.Repeat("é", 1000):                `"` + strings.Repeat("é", 100) + `"… (2000 bytes)`,
		"y" + strings.Repeat("é", 100):           `"y` + strings.Repeat("é", 99) + `"… (201 bytes)`,
		strings.Repeat("\xbf", 300):              `"` + strings.Repeat(`\xbf`, 200) + `"… (300 bytes)`,
	} {
		if got := protocol.Show(text); got != want {
			t.Errorf("Show(%.300q) is %s, want %s", text, got, want)
		}
	}
}

func TestAWordIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "job", "a b", `"a b"`, `"job"`, "`a b`", "'a'", `\x`, "a\nb", "\xff", "\x00", "é"} {
		if word := protocol.Word(text); protocol.ParseWord(word) != text || protocol.Line(word) != word {
			t.Errorf("%q is written as %s and read as %q", text, word, protocol.ParseWord(word))
		}
	}
	for _, text := range []string{`"job"`, "`a b`", "'a'", `"a b`, `"a` + "\x7f" + `"`} {
		if got := protocol.ParseWord(text); got != text {
			t.Errorf("%q is read as %q", text, got)
		}
	}
}

func TestLineIsOnePrintableLine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`redlatch: lock "a b": held`: `redlatch: lock "a b": held`,
		"one\ntwo":                   "one; two",
		"\x1b[2J\r\x07é":             `\x1b[2J\r\aé`,
		"a\u202eb\xff":               `a\u202eb\xff`,
		strings.Repeat("é", 5000):    strings.Repeat("é", 2000) + "… (10000 bytes)",
	} {
		if got := protocol.Line(text); got != want {
			t.Errorf("Line(%.300q) is %s, want %s", text, got, want)
		}
	}
}

// FuzzShow: whatever stands in Redis, what is printed is short and one printable line.
func FuzzShow(f *testing.F) {
	for _, seed := range []string{"", "uuid:7", "a\nb", "\x1b[2J", strings.Repeat("é\xff", 2100)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for what, got := range map[string]string{"Show": protocol.Show(text), "Line": protocol.Line(text)} {
			if protocol.Line(got) != got && len(got) <= 4000 {
				t.Errorf("%s(%q) is %q, which is not printable", what, text, got)
			}
			if !utf8.ValidString(got) || len(got) > 17000 {
				t.Errorf("%s(%q) has %d bytes", what, text, len(got))
			}
		}
	})
}
