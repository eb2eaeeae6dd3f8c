//go:build interop

package interop_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// journal is what sections wrote down, in the order in which Redis received it:
//
//	enter X|S OWNER OP [TOKEN]
//	leave X|S OWNER OP COUNTER-BEFORE COUNTER-AFTER
//	killed CLIENT
//
// A section of a killed client counts as over: its lock has to outlive it by far. Tokens
// grow from one entry to the next, except that an owner may come again with the one it has.
type journal struct {
	inside   map[string]entry // by op
	counter  int64
	unknown  int64 // sections that were killed and may have written or not
	token    int64 // the last one seen, and who came with it
	bearer   string
	sections int
	owners   []string // of the sections, in the order in which they began
	wrong    []string
}

type entry struct {
	exclusive bool
	owner     string
}

// readJournal checks a journal and returns what is wrong with it.
func readJournal(lines []string) *journal {
	j := &journal{inside: map[string]entry{}}
	for i, line := range lines {
		before := len(j.wrong)
		words := strings.Fields(line)
		switch {
		case (len(words) == 4 || len(words) == 5) && words[0] == "enter":
			j.enter(words[3], entry{words[1] == "X", words[2]})
			if len(words) == 5 {
				j.bears(words[2], words[4])
			}
		case len(words) == 6 && words[0] == "leave":
			j.leave(words[3], words[4], words[5])
		case len(words) == 2 && words[0] == "killed":
			j.killed(words[1])
		default:
			j.wrong = append(j.wrong, "not understood")
		}
		for k := before; k < len(j.wrong); k++ {
			j.wrong[k] = fmt.Sprintf("line %d, %q: %s", i+1, line, j.wrong[k])
		}
	}
	for op, e := range j.inside {
		j.wrong = append(j.wrong, fmt.Sprintf("%s never left %s", e.owner, op))
	}
	return j
}

func (j *journal) enter(op string, e entry) {
	for other, o := range j.inside {
		if e.exclusive || o.exclusive {
			j.wrong = append(j.wrong, fmt.Sprintf("%s is inside with %s", o.owner, other))
		}
	}
	j.inside[op] = e
	j.owners = append(j.owners, e.owner)
}

// crossings counts the sections that began after one of another side, by the side of each client.
func (j *journal) crossings(sides map[string]string) (n int) {
	before := ""
	for _, owner := range j.owners {
		side := sides[owner[:strings.LastIndex(owner, ":")]]
		if before != "" && side != before {
			n++
		}
		before = side
	}
	return n
}

func (j *journal) bears(owner, text string) {
	token, err := strconv.ParseInt(text, 10, 64)
	if err != nil || token < j.token || token == j.token && owner != j.bearer {
		j.wrong = append(j.wrong, fmt.Sprintf("the token before was %d of %s", j.token, j.bearer))
	}
	j.token, j.bearer = max(token, j.token), owner
}

func (j *journal) leave(op, before, after string) {
	e, ok := j.inside[op]
	if !ok {
		j.wrong = append(j.wrong, "it was not inside")
	}
	delete(j.inside, op)
	j.sections++
	first, err := strconv.ParseInt(before, 10, 64)
	second, err2 := strconv.ParseInt(after, 10, 64)
	if err != nil || err2 != nil {
		j.wrong = append(j.wrong, "no numbers")
		return
	}
	if ahead := first - j.counter; ahead < 0 || ahead > j.unknown {
		j.wrong = append(j.wrong, fmt.Sprintf("the counter was %d before", j.counter))
	} else {
		j.unknown -= ahead
	}
	if !e.exclusive && first != second {
		j.wrong = append(j.wrong, "the counter changed while it was read")
	}
	j.counter = second
}

func (j *journal) killed(client string) {
	for op, e := range j.inside {
		if strings.HasPrefix(e.owner, client+":") {
			delete(j.inside, op)
			if e.exclusive {
				j.unknown++
			}
		}
	}
}

func TestAJournalWithAnOverlapIsWrong(t *testing.T) {
	t.Parallel()
	for title, c := range map[string]struct {
		lines []string
		want  string // in one of the complaints; "" for none
	}{
		"one after the other":   {[]string{"enter X a:1 1", "leave X a:1 1 0 1", "enter X b:1 2", "leave X b:1 2 1 2"}, ""},
		"readers together":      {[]string{"enter S a:1 1", "enter S b:1 2", "leave S a:1 1 0 0", "leave S b:1 2 0 0"}, ""},
		"two writers":           {[]string{"enter X a:1 1", "enter X b:1 2", "leave X a:1 1 0 1", "leave X b:1 2 1 2"}, "is inside"},
		"a reader and a writer": {[]string{"enter S a:1 1", "enter X b:1 2", "leave S a:1 1 0 0", "leave X b:1 2 0 1"}, "is inside"},
		"a writer and a reader": {[]string{"enter X a:1 1", "enter S b:1 2", "leave X a:1 1 0 1", "leave S b:1 2 1 1"}, "is inside"},
		"a lost step":           {[]string{"enter X a:1 1", "leave X a:1 1 0 1", "enter X b:1 2", "leave X b:1 2 0 1"}, "the counter was 1"},
		"a change under a read": {[]string{"enter S a:1 1", "leave S a:1 1 0 1"}, "changed while"},
		"a killed writer":       {[]string{"enter X a:1 1", "killed a", "enter X b:1 2", "leave X b:1 2 1 2"}, ""},
		"a killed idle client":  {[]string{"enter X a:1 1", "killed b", "enter X b:1 2", "leave X b:1 2 0 1", "leave X a:1 1 1 2"}, "is inside"},
		"two steps of one dead": {[]string{"enter X a:1 1", "killed a", "enter X b:1 2", "leave X b:1 2 2 3"}, "the counter was 0"},
		"tokens that grow":      {[]string{"enter X a:1 1 4", "leave X a:1 1 0 1", "enter X b:1 2 6", "leave X b:1 2 1 2"}, ""},
		"a token that is kept":  {[]string{"enter X a:1 1 4", "leave X a:1 1 0 1", "enter X a:1 2 4", "leave X a:1 2 1 2"}, ""},
		"a token given twice":   {[]string{"enter X a:1 1 4", "leave X a:1 1 0 1", "enter X b:1 2 4", "leave X b:1 2 1 2"}, "the token before was 4"},
		"a token that falls":    {[]string{"enter X a:1 1 4", "leave X a:1 1 0 1", "enter X a:1 2 3", "leave X a:1 2 1 2"}, "the token before was 4"},
		"nobody left":           {[]string{"enter X a:1 1"}, "never left"},
	} {
		got := readJournal(c.lines).wrong
		if c.want == "" && len(got) > 0 || c.want != "" && !slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, c.want) }) {
			t.Errorf("%s: complaints are %q, want one with %q", title, got, c.want)
		}
	}
}

func TestCrossingsAreCounted(t *testing.T) {
	t.Parallel()
	sides := map[string]string{"a": "Go", "b": "Go", "c": "Java"}
	for order, want := range map[string]int{"": 0, "a": 0, "ab": 0, "ac": 1, "aabbcc": 1, "acbc": 3, "caaac": 2} {
		var lines []string
		for i, client := range strings.Split(order, "") {
			lines = append(lines, fmt.Sprintf("enter S %s:1 %d", client, i), fmt.Sprintf("leave S %s:1 %d 0 0", client, i))
		}
		if got := readJournal(lines).crossings(sides); got != want {
			t.Errorf("%q has %d crossings, want %d", order, got, want)
		}
	}
}
