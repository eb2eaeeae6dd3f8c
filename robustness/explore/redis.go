package explore

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2/server"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/embedded"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/internal/script"
	"github.com/redlatch/redlatch/robustness/internal/mutation"
)

// epoch is the time that the server's clock always shows. Time passes by moving everything else
// towards the past (keys.after). So two states that differ only in their date are equal.
var epoch = time.UnixMilli(1_700_000_000_000)

// request is a script with its keys and arguments.
type request struct {
	question
	id          int32
	text        string // of the script, with its mutations
	keys, words []string
}

// outcome is what a request does to some keys.
type outcome struct {
	keys  *keys
	reply driver.Reply
	said  []string // "channel payload"
	token int      // the value of the token counter, if there is one

	read   bool   // the following is known
	answer answer // what the reply says
	fault  string // what is wrong with it
}

// redis is the embedded server. It carries out requests on keys. Both are interned, so each pair
// is run once.
type redis struct {
	mini      *embedded.Server
	mutations []mutation.Mutation
	mutated   map[mutation.Mutation]bool // those that changed something

	loaded   *keys
	said     []string
	texts    map[string]string // as they are run, by the shipped text
	contents map[string]*keys
	all      []*keys
	requests []*request
	known    map[string]*request // by all that they are
	outcomes map[[2]int32]*outcome
	later    map[[2]int32]*keys
}

func newRedis(mutations []mutation.Mutation) *redis {
	s := &redis{
		mini: redistest.Must(embedded.New()), mutations: mutations, mutated: map[mutation.Mutation]bool{},
		texts: map[string]string{}, contents: map[string]*keys{}, requests: []*request{{}},
		known: map[string]*request{}, outcomes: map[[2]int32]*outcome{}, later: map[[2]int32]*keys{},
	}
	s.mini.SetTime(epoch)
	s.mini.Server().SetPreHook(func(_ *server.Peer, command string, words ...string) bool {
		if command == "PUBLISH" {
			s.said = append(s.said, strings.Join(words, " "))
		}
		return false
	})
	s.intern(nil)
	return s
}

// request enters a call of package script.
func (s *redis) request(q question, call script.Call) *request {
	words := call.WithSource().Words
	count := redistest.Must(strconv.Atoi(words[2]))
	return s.enter(q, words[1], words[3:3+count], words[3+count:])
}

// enter is request for any text.
func (s *redis) enter(q question, text string, keys, words []string) *request {
	if s.texts[text] == "" {
		s.texts[text] = s.mutate(text)
	}
	all := fmt.Sprint(q, s.texts[text], keys, words)
	if s.known[all] == nil {
		s.known[all] = &request{
			question: q, id: int32(len(s.requests)), text: s.texts[text], keys: keys, words: words,
		}
		s.requests = append(s.requests, s.known[all])
	}
	return s.known[all]
}

func (s *redis) mutate(text string) string {
	for _, m := range s.mutations {
		if changed := m.Of(text); changed != text {
			text, s.mutated[m] = changed, true
		}
	}
	return text
}

// run carries out a request.
func (s *redis) run(k *keys, r *request) *outcome {
	key := [2]int32{k.id, r.id}
	if done := s.outcomes[key]; done != nil {
		return done
	}
	if s.loaded != k {
		k.load(s.mini)
	}
	s.said = nil
	done := &outcome{reply: s.mini.Do(slices.Concat([]string{"EVAL", r.text, strconv.Itoa(len(r.keys))}, r.keys, r.words)...)}
	done.said = s.said
	items := dump(s.mini)
	done.token = recount(items)
	done.keys = s.intern(items)
	s.loaded = done.keys
	if done.token > 1 {
		s.loaded = nil
	}
	s.outcomes[key] = done
	return done
}

// after is the keys when some time has passed.
func (s *redis) after(k *keys, ms int32) *keys {
	key := [2]int32{k.id, ms}
	if s.later[key] == nil {
		s.later[key] = s.intern(k.after(ms))
	}
	return s.later[key]
}

func (s *redis) intern(items []item) *keys {
	text := encode(items)
	if k := s.contents[text]; k != nil {
		return k
	}
	k := &keys{id: int32(len(s.all)), items: items}
	s.all = append(s.all, k)
	s.contents[text] = k
	return k
}
