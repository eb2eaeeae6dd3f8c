package protocol

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// What stands in Redis may have been written by anybody. Whoever prints it uses Show or
// Line, so that it cannot forge a line, move a cursor, or fill a screen.

// maxShown is how many bytes of a text Show prints. An owner has about 40.
const maxShown = 200

// maxLine is how many bytes of a line Line prints.
const maxLine = 4000

// Show writes a name, an owner or a value for a person to read. What is one printable word
// stays as it is. Anything else is quoted as in Go. A text of more than 200 bytes is cut, and
// its length is given.
func Show(text string) string {
	if len(text) > maxShown {
		return fmt.Sprintf("%s… (%d bytes)", strconv.Quote(cut(text, maxShown)), len(text))
	}
	if word(text) {
		return text
	}
	return strconv.Quote(text)
}

// Line writes a whole message as one printable line. It is for messages that consist of
// several texts: each line break becomes "; ", and what is not printable is escaped. A message
// of more than 4,000 bytes is cut.
func Line(text string) string {
	rest := ""
	if len(text) > maxLine {
		text, rest = cut(text, maxLine), fmt.Sprintf("… (%d bytes)", len(text))
	}
	quoted := strconv.Quote(text)
	return unquoted.Replace(quoted[1:len(quoted)-1]) + rest
}

// unquoted takes back what a quotation does to printable characters.
var unquoted = strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\n`, "; ")

// word says that a text is printable and has no space or quotation mark in it. What is no
// UTF-8 cannot be printed, nor can a mark that changes the direction of what stands beside it.
func word(text string) bool {
	return text != "" && utf8.ValidString(text) &&
		!strings.ContainsFunc(text, func(r rune) bool { return !strconv.IsPrint(r) || strings.ContainsRune(` "\`, r) })
}

// cut returns the first n bytes of a text, without half a rune at the end.
func cut(text string, n int) string {
	for i := n; i > n-utf8.UTFMax && i > 0; i-- {
		if utf8.RuneStart(text[i]) {
			return text[:i]
		}
	}
	return text[:n]
}
