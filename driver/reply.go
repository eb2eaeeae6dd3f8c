package driver

import (
	"strconv"
	"strings"
)

// Reply is the reply to one command: nil (IsNil), an integer, a string, an
// array, or an error. These are the types of RESP2: a map is an array of keys
// and values alternating, and a floating-point number is a string.
type Reply struct {
	Int   int64   // of an integer reply
	Str   string  // of a string reply
	Array []Reply // of an array reply
	IsNil bool    // a nil reply
	Err   error   // nothing else is set when this is
}

// maxText is how many bytes of a reply String prints.
const maxText = 200

// String writes the reply for a person to read: the first 200 bytes of it, on one line of
// printable ASCII. Anybody may have written what a reply says.
func (r Reply) String() string {
	var text strings.Builder
	r.write(&text)
	if text.Len() <= maxText {
		return text.String()
	}
	return text.String()[:maxText] + "…"
}

// write appends the reply, and stops soon after maxText bytes. All of it is ASCII.
func (r Reply) write(text *strings.Builder) {
	switch {
	case text.Len() > maxText:
	case r.Err != nil:
		text.WriteString("error " + quoted(r.Err.Error()))
	case r.IsNil:
		text.WriteString("nil")
	case r.Array != nil:
		text.WriteString("[")
		for i, element := range r.Array {
			if text.Len() > maxText {
				return
			}
			if i > 0 {
				text.WriteString(" ")
			}
			element.write(text)
		}
		text.WriteString("]")
	case r.Str != "":
		text.WriteString(quoted(r.Str))
	default: // an integer, or an empty string, which looks like 0
		text.WriteString(strconv.FormatInt(r.Int, 10))
	}
}

func quoted(text string) string { return strconv.QuoteToASCII(text[:min(len(text), maxText)]) }
