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
