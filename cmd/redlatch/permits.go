package main

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/redlatch/redlatch/inspect"
	"github.com/redlatch/redlatch/internal/protocol"
)

// What the verbs print of semaphores and latches.

// permitsVar adds the flag of the verbs that find locks, or semaphores instead.
func permitsVar(cmd *cobra.Command, permits *bool) {
	cmd.Flags().BoolVar(permits, "permits", false, "instead of locks: semaphores whose leased permits are in use")
}

// permitTable is a table of semaphores.
func permitTable(all []inspect.Counter, shown func(name string) string) string {
	rows := [][]string{{"NAME", "AVAILABLE", "USED", "SIZE", "TTL", "WAITING", "FINDINGS"}}
	for _, c := range all {
		used, size, ttl, waiting := "-", "-", "-", "?"
		if c.Kind == inspect.KindPermits {
			used, size = strconv.Itoa(c.InUse), strconv.Itoa(c.Size())
		}
		if len(c.Permits) > 0 {
			ttl = ttlText(c.Permits[0].TTL)
		}
		if c.Waiting >= 0 {
			waiting = strconv.Itoa(c.Waiting)
		}
		rows = append(rows, []string{shown(c.Name), strconv.Itoa(c.Available), used, size, ttl, waiting, cmp.Or(codesOf(c.Findings), "-")})
	}
	return aligned(rows)
}

// countOf is the number of a semaphore or a latch.
func countOf(c inspect.Counter) string {
	if c.Kind == inspect.KindPermits {
		return fmt.Sprintf("%d of %d permits available", c.Available, c.Size())
	}
	return strconv.Itoa(c.Available)
}

// everythingOf is a semaphore or a latch in words, a line for each thing.
func everythingOf(c inspect.Counter) string {
	var text strings.Builder
	add := func(title, format string, args ...any) {
		fmt.Fprintf(&text, "  %-9s %s\n", title, fmt.Sprintf(format, args...))
	}
	fmt.Fprintf(&text, "%s: %s\n", protocol.Show(c.Name), countOf(c))
	if c.Kind == inspect.KindCounter {
		add("kind", "counter: the available permits of a semaphore, or the count of a latch")
	} else {
		add("kind", "permits")
	}
	for _, p := range c.Permits {
		add("permit", "%s, %s", p.ID, left(p.TTL))
		text.WriteString(notedLines(p.Noted))
	}
	if more := c.InUse - len(c.Permits); more > 0 {
		add("", "and %d more", more)
	}
	if len(c.Permits) > 0 {
		add("holders", "unknown: a permit has an id, and Redis does not know whose it is")
	}
	switch {
	case c.Expired > 0 && c.TTL == 0:
		add("expired", "permits of a semaphore that is gone: %d", c.Expired)
	case c.Expired > 0:
		add("expired", "%d permits, which the next acquisition puts back", c.Expired)
	}
	if c.TTL > 0 {
		add("expires", "%s", left(c.TTL))
	}
	if c.Waiting >= 0 {
		add("waiting", "%s", processes(c.Waiting))
	}
	for _, one := range c.Findings {
		add("finding", "%s: %s", one.Code, one.Text)
	}
	return text.String()
}
