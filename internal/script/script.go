package script

import (
	"embed"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/protocol"
)

//go:embed *.lua *.inc
var files embed.FS

// source is one script. It is read when it is needed first: reading all of them would take
// longer than everything else at the start of a program.
type source struct {
	name string
	read func() body
}

// body is the text of a script, and the digest by which the server knows it.
type body struct{ text, digest string }

// load names a script, which begins with what it has in common with others.
func load(name string, common ...string) *source {
	return &source{name, sync.OnceValue(func() body {
		var text string
		for _, part := range common {
			text += read(part + ".inc")
		}
		text = trim(text + read(name+".lua"))
		return body{text, protocol.Digest(text)}
	})}
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
	ends        bool
}

// Key determines which server answers the call.
func (c Call) Key() string { return c.command.Key }

// Ending is the same call, which ends work: it is repeated also while the server takes no writes.
func (c Call) Ending() Call {
	c.ends = true
	return c
}

// Piggybacked is the same call, sent along with others. It is repeated only together with them.
// If the others are answered and it is not, its result has the error.
func (c Call) Piggybacked() Call {
	c.piggybacked = true
	return c
}

// Sourced is the same call, always sent with its source. A server that stands still may carry it out
// when nobody waits for the answer any more, so it could not ask for the source.
func (c Call) Sourced() Call {
	c.command = c.WithSource()
	return c
}

// call builds EVALSHA digest numkeys key… arg….
func (s *source) call(keys int, words ...string) Call {
	all := append(buffer(3+len(words)), "EVALSHA", s.read().digest, strconv.Itoa(keys))
	all = append(all, words...)
	return Call{script: s, command: driver.Command{Words: all, Key: words[0]}}
}

// buffers are the words of calls that are done (Runner.Done): of *[reused]string.
var buffers = sync.Pool{New: func() any { return new([reused]string) }}

// reused is as many words as the calls have that take a mutex and release it.
const reused = 7

// buffer has room for n words.
func buffer(n int) []string {
	if n <= reused {
		return buffers.Get().(*[reused]string)[:0]
	}
	return make([]string, 0, n)
}

// Tokens says how an acquisition issues fencing tokens.
type Tokens struct {
	Clock bool          // a token is at least the server's time in microseconds
	Keep  time.Duration // with Clock: so long after the last token the counter expires. 0: never.
	Count int64         // how many are issued. The last one is the answer. 0 is 1.
}

// WithTokens is the same call, which also issues tokens if it acquires.
func (c Call) WithTokens(counter string, t Tokens) Call {
	rule := "count"
	switch {
	case t.Clock && t.Keep > 0:
		rule = millis(t.Keep)
	case t.Clock:
		rule = "clock"
	}
	words := c.command.Words
	keys, _ := strconv.Atoi(words[2])
	words = slices.Insert(words, 3+keys, counter)
	words[2] = strconv.Itoa(keys + 1)
	c.command.Words = append(words, rule, strconv.FormatInt(max(t.Count, 1), 10))
	return c
}

// WithSource is the same call for a server that does not know the script.
func (c Call) WithSource() driver.Command {
	words := append([]string{"EVAL", c.script.read().text}, c.command.Words[2:]...)
	return driver.Command{Words: words, Key: c.command.Key}
}

// millis writes a duration in milliseconds, as the scripts expect it.
func millis(d time.Duration) string {
	if n := int(d / time.Second); d%time.Second == 0 && n >= 0 && n < common {
		return seconds()[n]
	}
	return strconv.FormatInt(d.Milliseconds(), 10)
}

// seconds are the whole seconds as millis writes them. Most leases are among them.
var seconds = sync.OnceValue(func() []string {
	all := make([]string, common)
	for n := range all {
		all[n] = strconv.Itoa(1000 * n)
	}
	return all
})

const common = 61

// flag writes a bool as the scripts expect it.
func flag(on bool) string {
	if on {
		return "1"
	}
	return "0"
}

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
