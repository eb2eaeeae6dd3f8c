package protocol

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// UnlockCommand is the command line that takes a lock away from an owner. Somebody may paste it into a
// shell: nothing in the names is carried out, and no name is taken for a flag.
func UnlockCommand(owner, name string) string {
	end := ""
	if strings.HasPrefix(name, "-") {
		end = "-- "
	}
	return "redlatch unlock --force --if-owner " + ShellWord(owner) + " " + end + ShellWord(name)
}

// ShellWord is a text as one word of a command line of redlatch, which reads it by ParseWord. Nothing in it is
// carried out. A long text is a placeholder.
func ShellWord(text string) string {
	switch {
	case len(text) > maxShown:
		return "…"
	case ParseWord(text) != text || !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return !strconv.IsPrint(r) }):
		text = Word(text)
	case text != "" && strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:._/-") == "" && text[0] != '-':
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
