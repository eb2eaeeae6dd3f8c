//go:build interop

package interop_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// stay is a time in which somebody certainly had a lock: from when the answer had come until the next
// command was sent. All times are of this process's clock, whoever the peers are.
type stay struct {
	by       actor
	from, to time.Time
	n        int   // permits, or 1 for a reader, or whole
	token    int64 // 0 without
}

func (s stay) String() string {
	return fmt.Sprintf("%v from %s to %s", s.by, s.from.Format(time.StampMicro), s.to.Format(time.StampMicro))
}

// whole is how much of a lock somebody has who has it alone.
const whole = 1000

// overlaps looks for moments at which more was held than there is, and returns the most that was held.
func overlaps(stays []stay, all int) (most int, wrong []string) {
	slices.SortFunc(stays, func(a, b stay) int { return a.from.Compare(b.from) })
	var open []stay
	for _, s := range stays {
		open = append(slices.DeleteFunc(open, func(o stay) bool { return !o.to.After(s.from) }), s)
		held := 0
		for _, o := range open {
			held += o.n
		}
		if most = max(most, held); held > all {
			wrong = append(wrong, fmt.Sprintf("%d of %d are held, by %v", held, all, open))
		}
	}
	return most, wrong
}

// wrongTokens are those that do not grow from one stay to the next. A thread may come again with the one
// that it has.
func wrongTokens(stays []stay) (wrong []string) {
	slices.SortFunc(stays, func(a, b stay) int { return a.from.Compare(b.from) })
	last := stay{}
	for _, s := range stays {
		if s.token == 0 {
			continue
		}
		if s.token < last.token || s.token == last.token && s.by != last.by {
			wrong = append(wrong, fmt.Sprintf("%v comes with %d after %v with %d", s.by, s.token, last.by, last.token))
		}
		last = s
	}
	return wrong
}

func TestOverlapsAndWrongTokensAreSeen(t *testing.T) {
	t.Parallel()
	at := func(by, from, to, n int, token int64) stay {
		return stay{actor{number: by, peer: here{}}, time.UnixMilli(int64(from)), time.UnixMilli(int64(to)), n, token}
	}
	for title, c := range map[string]struct {
		stays []stay
		want  string // in a complaint; "" for none
	}{
		"one after the other":    {[]stay{at(1, 0, 1, whole, 0), at(2, 1, 2, whole, 0)}, ""},
		"readers together":       {[]stay{at(1, 0, 2, 1, 0), at(2, 1, 3, 1, 0)}, ""},
		"two writers":            {[]stay{at(1, 0, 2, whole, 0), at(2, 1, 3, whole, 0)}, "2000 of 1000"},
		"a reader and a writer":  {[]stay{at(1, 0, 2, 1, 0), at(2, 1, 3, whole, 0)}, "1001 of 1000"},
		"a writer and a reader":  {[]stay{at(2, 1, 3, 1, 0), at(1, 0, 2, whole, 0)}, "1001 of 1000"},
		"one across two":         {[]stay{at(1, 0, 9, 1, 0), at(2, 1, 2, 1, 0), at(3, 4, 5, whole, 0)}, "1001 of 1000"},
		"tokens that grow":       {[]stay{at(1, 0, 1, whole, 4), at(2, 2, 3, whole, 6)}, ""},
		"a token that is kept":   {[]stay{at(1, 0, 1, whole, 4), at(1, 2, 3, whole, 4)}, ""},
		"a token given twice":    {[]stay{at(1, 0, 1, whole, 4), at(2, 2, 3, whole, 4)}, "with 4 after"},
		"a token that falls":     {[]stay{at(1, 0, 1, whole, 4), at(2, 2, 3, whole, 0), at(1, 4, 5, whole, 3)}, "with 3 after"},
		"told of in other order": {[]stay{at(2, 2, 3, whole, 6), at(1, 0, 1, whole, 4)}, ""},
	} {
		_, wrong := overlaps(c.stays, whole)
		got := strings.Join(append(wrong, wrongTokens(c.stays)...), "\n")
		if got != "" && c.want == "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: complaints are %q, want %q", title, got, c.want)
		}
	}
}
