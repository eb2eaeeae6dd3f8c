package protocol

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Anybody may have written what is in Redis. Code that prints it uses Show or Line, so that the
// text cannot forge a line, move the cursor, or fill the screen.

// maxShown is how many bytes of a text Show prints. An owner has about 40.
const maxShown = 200

// maxLine is how many bytes of a line Line prints.
const maxLine = 4000

// Show writes a name, an owner or a value for a person to read. One printable word stays as it
// is. Anything else is quoted as in Go. A text of more than 200 bytes is cut, and its length is
// added.
func Show(text string) string {
	if len(text) > maxShown {
		return fmt.Sprintf("%s… (%d bytes)", strconv.Quote(cut(text, maxShown)), len(text))
	}
	return Word(text)
}

// Word writes a text as one printable word, from which ParseWord reads it again.
func Word(text string) string {
	if word(text) {
		return text
	}
	return strconv.Quote(text)
}

// ParseWord reads a text as Word has written it. Any other text is returned as it is.
func ParseWord(text string) string {
	if read, err := strconv.Unquote(text); err == nil && Word(read) == text {
		return read
	}
	return text
}

// Argument writes a text for JSON: as it is, if a command line can have it, and ParseWord leaves it alone. Otherwise it
// is the word that ParseWord reads. JSON has no bytes that are not UTF-8, and a command line has no NUL.
func Argument(text string) string {
	if utf8.ValidString(text) && !strings.Contains(text, "\x00") && ParseWord(text) == text {
		return text
	}
	return strconv.Quote(text)
}

// Line writes a whole message as one printable line, for example a message made of several
// errors. Each line break becomes "; ". Characters that are not printable are escaped. A message
// of more than 4,000 bytes is cut.
func Line(text string) string {
	rest := ""
	if len(text) > maxLine {
		text, rest = cut(text, maxLine), fmt.Sprintf("… (%d bytes)", len(text))
	}
	quoted := strconv.Quote(text)
	return unquoted.Replace(quoted[1:len(quoted)-1]) + rest
}

// unquoted undoes the quoting of printable characters.
var unquoted = strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\n`, "; ")

// word says that a text is printable UTF-8 without a space or a quotation mark. Marks that change
// the direction of writing do not count as printable.
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
