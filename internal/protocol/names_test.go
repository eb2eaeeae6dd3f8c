package protocol_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/redlatch/redlatch/internal/protocol"
)

// The right-hand sides were worked out by hand from the rule that Java clients
// apply: only the opening brace counts, wherever it stands. They are spelled out
// and not put together, so that the test knows nothing of the code.
func TestDerivedNamesFollowTheBraceRuleByteForByte(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, channel, token, suffixed string }{
		{"job", "redisson_lock__channel:{job}", "redisson_lock_token:{job}", "{job}:s"},
		{"order:1001", "redisson_lock__channel:{order:1001}", "redisson_lock_token:{order:1001}", "{order:1001}:s"},
		{"two words", "redisson_lock__channel:{two words}", "redisson_lock_token:{two words}", "{two words}:s"},

		// A tag of the name's own.
		{"{tag}rest", "redisson_lock__channel:{tag}rest", "redisson_lock_token:{tag}rest", "{tag}rest:s"},
		{"pre{tag}", "redisson_lock__channel:pre{tag}", "redisson_lock_token:pre{tag}", "pre{tag}:s"},
		{"{a}{b}", "redisson_lock__channel:{a}{b}", "redisson_lock_token:{a}{b}", "{a}{b}:s"},

		// No tag at all, and yet taken as it is.
		{"a{b", "redisson_lock__channel:a{b", "redisson_lock_token:a{b", "a{b:s"},
		{"x{}y", "redisson_lock__channel:x{}y", "redisson_lock_token:x{}y", "x{}y:s"},
		{"{", "redisson_lock__channel:{", "redisson_lock_token:{", "{:s"},
		{"}{", "redisson_lock__channel:}{", "redisson_lock_token:}{", "}{:s"},

		// A closing brace does not count.
		{"a}b", "redisson_lock__channel:{a}b}", "redisson_lock_token:{a}b}", "{a}b}:s"},
		{"}", "redisson_lock__channel:{}}", "redisson_lock_token:{}}", "{}}:s"},

		{"schlüssel", "redisson_lock__channel:{schlüssel}", "redisson_lock_token:{schlüssel}", "{schlüssel}:s"},
		{"鍵{🔒}", "redisson_lock__channel:鍵{🔒}", "redisson_lock_token:鍵{🔒}", "鍵{🔒}:s"},
		// A brace of another script is a letter like any other.
		{"｛x｝", "redisson_lock__channel:{｛x｝}", "redisson_lock_token:{｛x｝}", "{｛x｝}:s"},
	} {
		if got := protocol.LockChannel(c.name); got != c.channel {
			t.Errorf("channel of %q is %q, want %q", c.name, got, c.channel)
		}
		if got := protocol.TokenKey(c.name); got != c.token {
			t.Errorf("token key of %q is %q, want %q", c.name, got, c.token)
		}
		if got := protocol.Suffixed(c.name, "s"); got != c.suffixed {
			t.Errorf("suffixed %q is %q, want %q", c.name, got, c.suffixed)
		}
	}
}

func TestNamesThatCannotNameALockAreRefusedWithTheReason(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct{ name, reason string }{
		"empty":                 {"", "empty"},
		"one byte too long":     {strings.Repeat("x", protocol.MaxNameLen+1), "1025 bytes"},
		"too long in bytes":     {strings.Repeat("é", protocol.MaxNameLen/2+1), "1026 bytes"},
		"too long and no text":  {strings.Repeat("\xff", 4096), "4096 bytes"},
		"NUL":                   {"a\x00b", "U+0000 at byte 1"},
		"newline":               {"job\n", "U+000A at byte 3"},
		"tab":                   {"\tjob", "U+0009 at byte 0"},
		"escape":                {"\x1b[2J", "U+001B at byte 0"},
		"delete":                {"job\x7f", "U+007F at byte 3"},
		"next line, C1":         {"é\u0085", "U+0085 at byte 2"},
		"a lone byte":           {"job\xff", "UTF-8"},
		"half a character":      {"\xe4\xb8", "UTF-8"},
		"half of a Java pair":   {"\xed\xa0\x80", "UTF-8"},
		"an overlong slash":     {"\xc0\xaf", "UTF-8"},
		"beyond the last plane": {"\xf4\x90\x80\x80", "UTF-8"},
	} {
		err := protocol.CheckName(c.name)
		switch {
		case err == nil:
			t.Errorf("%s: accepted", what)
		case !strings.Contains(err.Error(), c.reason):
			t.Errorf("%s: refused with %q, which does not say %q", what, err, c.reason)
		case len(err.Error()) > 8*protocol.MaxNameLen:
			t.Errorf("%s: the error has %d bytes", what, len(err.Error()))
		case strings.ContainsFunc(err.Error(), unicode.IsControl):
			t.Errorf("%s: the error carries a control character: %q", what, err)
		}
	}
}

func TestNamesThatCanNameALockAreAccepted(t *testing.T) {
	t.Parallel()
	for what, name := range map[string]string{
		"one byte":              "x",
		"the longest":           strings.Repeat("x", protocol.MaxNameLen),
		"the longest, in bytes": strings.Repeat("é", protocol.MaxNameLen/2),
		"a blank":               " ",
		"blanks around":         "  job  ",
		"colons":                "order:1001:",
		"braces":                "{tag}rest",
		"an open brace":         "a{b",
		"no tag":                "x{}y",
		"glob characters":       "a*b?[c]",
		"quotes":                `'"` + "`\\",
		"another script":        "鍵",
		"beyond the BMP":        "🔒",
		"joined emoji":          "👩‍💻",
		"the replacement sign":  "\ufffd",
		"a line separator":      "a\u2028b",
		"a noncharacter":        "\uffff",
	} {
		if err := protocol.CheckName(name); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func FuzzNames(f *testing.F) {
	for _, seed := range []string{"", "job", "a{b", "x{}y", "{tag}rest", "a}b", "é\u0085", "\xff", "🔒"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		clean := name != "" && len(name) <= 1024 && utf8.ValidString(name) && !strings.ContainsFunc(name, unicode.IsControl)
		if err := protocol.CheckName(name); (err == nil) != clean {
			t.Fatalf("CheckName(%q) is %v", name, err)
		}
		before, after := protocol.Prefixed("p", name), protocol.Suffixed(name, "s")
		if strings.Contains(name, "{") {
			if before != "p:"+name || after != name+":s" {
				t.Fatalf("%q brings a brace, and gave %q and %q", name, before, after)
			}
			return
		}
		if before != "p:{"+name+"}" || after != "{"+name+"}:s" {
			t.Fatalf("%q brings no brace, and gave %q and %q", name, before, after)
		}
		if !strings.Contains(name, "}") && name != "" && (hashTag(before) != name || hashTag(after) != name) {
			t.Fatalf("%q: a cluster hashes %q by %q and %q by %q", name, before, hashTag(before), after, hashTag(after))
		}
	})
}

// hashTag is the part of a key by which a cluster picks its slot: what stands
// between the first opening brace and the next closing one, unless that is nothing.
func hashTag(key string) string {
	_, rest, opened := strings.Cut(key, "{")
	tag, _, closed := strings.Cut(rest, "}")
	if !opened || !closed || tag == "" {
		return key
	}
	return tag
}
