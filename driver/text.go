package driver

import (
	"strconv"
	"strings"
)

// maxText is how many bytes of a reply String prints.
const maxText = 200

// String writes the reply for a person to read: on one printable line, and the first 200
// bytes of it. What a reply says may have been written by anybody.
func (r Reply) String() string {
	var text strings.Builder
	r.write(&text)
	if text.Len() <= maxText {
		return text.String()
	}
	return text.String()[:maxText] + "…"
}

// write appends the reply, and ends soon after maxText bytes. All of it is ASCII.
func (r Reply) write(text *strings.Builder) {
	switch {
	case text.Len() > maxText:
	case r.Err != nil:
		text.WriteString("error " + quoted(r.Err.Error()))
	case r.IsNil:
		text.WriteString("nil")
	case r.Array != nil:
		text.WriteString("[")
		for i, one := range r.Array {
			if text.Len() > maxText {
				return
			}
			if i > 0 {
				text.WriteString(" ")
			}
			one.write(text)
		}
		text.WriteString("]")
	case r.Str != "":
		text.WriteString(quoted(r.Str))
	default: // an integer, or an empty string, which looks like 0
		text.WriteString(strconv.FormatInt(r.Int, 10))
	}
}

func quoted(text string) string { return strconv.QuoteToASCII(text[:min(len(text), maxText)]) }

// withoutScript is an error reply without the script and the line that a server adds to it.
// They say nothing to whoever took a lock.
func withoutScript(message string) string {
	// Since Redis 7: "READONLY … script: <digest>, on @user_script:7."
	if reason, where, ok := strings.Cut(message, " script: "); ok && strings.Contains(where, "@user_script") {
		return reason
	}
	// Before: "ERR Error running script (call to f_<digest>): @user_script:7: @user_script: 7: -READONLY …"
	if strings.HasPrefix(message, "ERR Error running script") {
		if _, reason, ok := strings.Cut(message, ": -"); ok {
			return reason
		}
	}
	return message
}
