package script

import (
	"embed"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/protocol"
)

//go:embed *.lua *.inc
var files embed.FS

// source is one script: its text, and the digest by which the server knows it.
type source struct {
	name, text, digest string
}

// load loads a script, which begins with what it has in common with others.
func load(name string, common ...string) *source {
	var text string
	for _, part := range common {
		text += read(part + ".inc")
	}
	text = trim(text + read(name+".lua"))
	return &source{name: name, text: text, digest: protocol.Digest(text)}
}

// trim removes the functions that no later code calls. The server creates all functions anew at
// each run, which costs up to a fifth of a short script's time.
func trim(text string) string {
	const begin, end = "\nlocal function ", "\nend\n"
	for at := strings.LastIndex(text, begin); at >= 0; at = strings.LastIndex(text[:at], begin) {
		name, _, _ := strings.Cut(text[at+len(begin):], "(")
		behind := at + strings.Index(text[at:], end) + len(end)
		if !strings.Contains(text[behind:], name+"(") {
			text = text[:at+1] + text[behind:]
		}
	}
	return text
}

func read(file string) string {
	text, err := files.ReadFile(file)
	if err != nil {
		panic("script: " + err.Error())
	}
	return string(text)
}

// Call is one run of a script with its keys and arguments.
type Call struct {
	script      *source
	command     driver.Command
	piggybacked bool
}

// Piggybacked is the same call, sent along with others. It is repeated only together with them.
// If the others are answered and it is not, its result has the error.
func (c Call) Piggybacked() Call {
	c.piggybacked = true
	return c
}

// call builds EVALSHA digest numkeys key… arg….
func (s *source) call(keys int, words ...string) Call {
	all := make([]string, 0, 3+len(words))
	all = append(all, "EVALSHA", s.digest, strconv.Itoa(keys))
	all = append(all, words...)
	return Call{script: s, command: driver.Command{Words: all, Key: words[0]}}
}

// WithToken makes a call that acquires also issue a fencing token from the counter. If clock is
// set, the token is never below the server's time in microseconds.
func (c Call) WithToken(counter string, clock bool) Call {
	rule := "count"
	if clock {
		rule = "clock"
	}
	words := c.command.Words
	keys, _ := strconv.Atoi(words[2])
	words = slices.Insert(words, 3+keys, counter)
	words[2] = strconv.Itoa(keys + 1)
	c.command.Words = append(words, rule)
	return c
}

// WithSource is the same call for a server that does not know the script.
func (c Call) WithSource() driver.Command {
	words := append([]string{"EVAL", c.script.text}, c.command.Words[2:]...)
	return driver.Command{Words: words, Key: c.command.Key}
}

// millis writes a duration in milliseconds, as the scripts expect it.
func millis(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// flag writes a bool as the scripts expect it.
func flag(on bool) string {
	if on {
		return "1"
	}
	return "0"
}

// duration reads milliseconds of the server. More than a time.Duration can hold is cut to its
// maximum: somebody else may have set such a TTL.
func duration(ms int64) time.Duration {
	const most = int64(math.MaxInt64 / time.Millisecond)
	return time.Duration(max(min(ms, most), -most)) * time.Millisecond
}

// moment reads a score that counts milliseconds. It reports false for a score that is no time.
func moment(score string) (time.Time, bool) {
	ms, err := strconv.ParseFloat(score, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) || math.IsNaN(ms) {
		return time.Time{}, false
	}
	return time.UnixMilli(int64(max(min(ms, latest), 0))), true
}

// latest is the last millisecond of the year 9999: later ones cannot be written in JSON.
const latest = 253402300799999

// number is the value of an integer reply. It is less than what any script answers if the reply
// is none.
func number(r driver.Reply) int64 {
	if r.Err != nil || r.IsNil || r.Str != "" || r.Array != nil {
		return math.MinInt64
	}
	return r.Int
}

// list is the value of an array reply: front words, and then any number of groups of group
// words each. After an error it is front empty words.
func list(s *source, r driver.Reply, front, group int) ([]driver.Reply, error) {
	if behind := len(r.Array) - front; r.Err != nil || behind < 0 || behind%group != 0 {
		return make([]driver.Reply, front), unexpected(s, r)
	}
	return r.Array, nil
}

// nothing is the size of a group that does not fit behind any front.
const nothing = math.MaxInt

// texts are the texts of a list of replies.
func texts(replies []driver.Reply) (all []string) {
	for _, r := range replies {
		all = append(all, r.Str)
	}
	return all
}

// unexpected is the error of a reply: its own, or that no version of the script gives it.
func unexpected(s *source, r driver.Reply) error {
	if r.Err != nil {
		return r.Err
	}
	return fmt.Errorf("script %s: unexpected reply %v", s.name, r)
}
