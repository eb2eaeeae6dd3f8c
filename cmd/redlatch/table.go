package main

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/redlatch/redlatch/inspect"
	"github.com/redlatch/redlatch/internal/protocol"
)

// widest is how many characters a cell of a table may have.
const widest = 48

// whole is a name in a list: an argument for any verb. A longer one cannot be an argument.
func whole(name string) string {
	if len(name) > 1<<14 {
		return protocol.Show(name)
	}
	return protocol.Word(name)
}

// brief is a name on a screen.
func brief(name string) string { return short(protocol.Show(name)) }

// lockTable is a table of locks: a title, and a line for each.
func lockTable(locks []inspect.Lock, shown func(name string) string) string {
	rows := [][]string{{"NAME", "KIND", "MODE", "HOLDER", "TTL", "WAITING", "NOTE", "FINDINGS"}}
	for _, l := range locks {
		rows = append(rows, []string{
			shown(l.Name), cmp.Or(string(l.Kind), "-"), cmp.Or(string(l.Mode), "free"),
			short(holderOf(l)), ttlOf(l), waitingOf(l), cmp.Or(short(noteOf(l)), "-"), cmp.Or(codesOf(l.Findings), "-"),
		})
	}
	return aligned(rows)
}

// noteOf is what stands beside the first holder that has something there.
func noteOf(l inspect.Lock) string {
	for _, h := range l.Holders {
		switch note := protocol.Line(h.Note); {
		case h.Recall != nil && note != "":
			return "recalled: " + note
		case h.Recall != nil:
			return "recalled"
		case note != "":
			return note
		}
	}
	return ""
}

// aligned is a table of cells, in columns.
func aligned(rows [][]string) string {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for n, cell := range row {
			widths[n] = max(widths[n], min(utf8.RuneCountInString(cell), widest))
		}
	}
	var text strings.Builder
	for _, row := range rows {
		for n, cell := range row {
			text.WriteString(cell)
			if n < len(row)-1 {
				text.WriteString(strings.Repeat(" ", max(widths[n]-utf8.RuneCountInString(cell), 0)+2))
			}
		}
		text.WriteString("\n")
	}
	return text.String()
}

// short is a text with its middle left out if it is long: both ends of a name say something.
func short(text string) string {
	runes := []rune(text)
	if len(runes) <= widest {
		return text
	}
	return string(runes[:widest/2]) + "…" + string(runes[len(runes)-widest/2+1:])
}

// holderOf is who holds a lock: the name of the process, or the owner.
func holderOf(l inspect.Lock) string {
	switch {
	case len(l.Holders) == 0:
		return "-"
	case l.Owners > 1 && l.Mode == "read":
		return fmt.Sprintf("%d readers", l.Owners)
	case l.Holders[0].Process != nil:
		return protocol.Show(l.Holders[0].Process.Name)
	}
	return protocol.Show(l.Holders[0].Owner)
}

func ttlOf(l inspect.Lock) string {
	if l.Mode == "" {
		return "-"
	}
	return ttlText(l.TTL)
}

func ttlText(ttl time.Duration) string {
	if ttl < 0 {
		return "none"
	}
	return fmt.Sprintf("%.1fs", ttl.Seconds())
}

func waitingOf(l inspect.Lock) string {
	if l.Waiting < 0 {
		return "?"
	}
	return strconv.Itoa(max(l.Waiting, l.Queued))
}

func codesOf(findings []inspect.Finding) string {
	var all []string
	for _, f := range findings {
		all = append(all, f.Code)
	}
	return strings.Join(all, ",")
}
