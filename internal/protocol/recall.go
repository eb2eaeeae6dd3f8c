package protocol

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxNoteLen is the longest note, author or reason, in bytes.
const MaxNoteLen = 256

// CheckNote reports why text cannot be a note, or nil. A note is one line for people.
func CheckNote(text string) error {
	switch {
	case len(text) > MaxNoteLen:
		return fmt.Errorf("it has %d bytes, more than %d", len(text), MaxNoteLen)
	case !utf8.ValidString(text):
		return fmt.Errorf("it is not valid UTF-8")
	}
	for i, r := range text {
		if unicode.IsControl(r) {
			return fmt.Errorf("it has the control character %U at byte %d", r, i)
		}
	}
	return nil
}

// ParseNote reads a note. What others may have written there is made a short line.
func ParseNote(text string) string {
	if CheckNote(text) == nil {
		return text
	}
	return Show(text[:min(len(text), MaxNoteLen)])
}

// Recall asks an owner to give back what it has.
type Recall struct{ Author, Reason string }

// recallGap is between the two, of which neither has a control character.
const recallGap = "\n"

// String is the recall as it stands in Redis.
func (r Recall) String() string { return r.Author + recallGap + r.Reason }

// ParseRecall reads a recall. What others may have written there is a reason.
func ParseRecall(text string) (r Recall) {
	author, reason, ok := strings.Cut(text, recallGap)
	if !ok || CheckNote(author) != nil || CheckNote(reason) != nil {
		return Recall{Reason: ParseNote(text)}
	}
	return Recall{author, reason}
}
