package sim

import "strings"

// named are the words of a command as a trace shows them: a script by the start of its digest.
func named(words []string) []string {
	if len(words) < 2 {
		return words
	}
	switch words[0] {
	case "EVALSHA":
		return append([]string{words[1][:8]}, words[3:]...)
	case "EVAL":
		return append([]string{"EVAL", scriptName(words[1])}, words[3:]...)
	}
	return words
}

// scriptName is the name of a script, which stands in its text.
func scriptName(text string) string {
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, "-- "); ok {
			if name, _, ok := strings.Cut(rest, ":"); ok && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz_") == "" {
				return name
			}
		}
	}
	return "script"
}
