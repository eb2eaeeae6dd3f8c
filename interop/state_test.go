//go:build interop

package interop_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/rueidis"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/redistest"
)

// Goal: after every step Redis holds the same, whoever did it, and the same was said.
// Method: the other library does the steps on one name and we on another, one after the
// other, and the transcripts are compared with names and owners replaced. The form of a name
// decides how keys are derived, so there are three.
func sameState(t *testing.T, r rig) {
	const watchdog = 30 * time.Second
	other := newClient(t, r.theirs, settings{watchdog: watchdog})
	latch := newClient(t, r.latch, settings{watchdog: watchdog})
	wire := newWiretap(t)
	for _, title := range slices.Sorted(maps.Keys(scripts)) {
		if kind, _, _ := strings.Cut(title, " "); !r.has(t, kind) {
			continue
		}
		t.Run(title, func(t *testing.T) {
			for form, pattern := range map[string]string{"plain": "%s", "tagged": "{%s}:rest", "half a brace": "a{%s"} {
				if form == r.otherwise {
					continue
				}
				theirs := transcript(t, wire, other, fmt.Sprintf(pattern, redistest.Name(t)), scripts[title])
				ours := transcript(t, wire, latch, fmt.Sprintf(pattern, redistest.Name(t)), scripts[title])
				compare(t, form, scripts[title], theirs, ours)
			}
		})
	}
}

func compare(t *testing.T, form string, steps []step, theirs, ours []scene) {
	t.Helper()
	for i, s := range steps {
		theirs[i].differ(s, form)
		if theirs[i] != ours[i] {
			t.Errorf("a %s name, step %d, %s\nthe other leaves %s\nwe leave %s", form, i+1, s.title(), theirs[i], ours[i])
		}
	}
}

func (s step) title() string {
	c := s.do("N")
	return fmt.Sprintf("thread %d: %s %s lease %d", s.thread, c.Verb, c.Kind, c.Lease)
}

// scene is what a step left.
type scene struct {
	answer string
	state  string
	said   string
}

func (s scene) String() string {
	return fmt.Sprintf("answer %s, said %q, state:\n%s", s.answer, s.said, s.state)
}

// differ applies the known differences of a step to what Java left.
func (s *scene) differ(by step, form string) {
	if old, ours, ok := strings.Cut(by.ours, "=>"); ok {
		old, ours = strings.TrimLeft(old, " "), strings.TrimSpace(ours)
		old = reform(strings.TrimSuffix(old, " "), form)
		if !strings.Contains(s.state, old) {
			s.state = "(the known difference is gone) " + s.state
		}
		s.state = strings.Replace(s.state, old, reform(ours, form), 1)
	}
	if by.says != "" {
		s.said = reform(by.says, form)
	}
}

// reform writes keys that derive from a plain name as they derive from another form.
func reform(text, form string) string {
	if form == "plain" {
		return text
	}
	return strings.ReplaceAll(text, "{N}", "N")
}

// transcript does the steps in order and looks at Redis after each.
func transcript(t *testing.T, wire *wiretap, a actor, name string, steps []step) []scene {
	t.Helper()
	wire.listen(t, protocol.LockChannel(name), protocol.RWChannel(name))
	owners := map[string]string{}
	var scenes []scene
	for _, s := range steps {
		actor := a.thread(s.thread)
		got := actor.do(t, s.do(name))
		if owner := got.Owner; owner != "" {
			owners[owner] = fmt.Sprint("O", s.thread)
		}
		if got.Error != "" {
			t.Fatalf("%v: %s: %s", actor, s.title(), got.Error)
		}
		plain := func(text string) string {
			text = strings.ReplaceAll(text, name, "N")
			for owner, word := range owners {
				text = strings.ReplaceAll(text, owner, word)
			}
			return text
		}
		scenes = append(scenes, scene{
			answer: fmt.Sprint(got.OK),
			state:  plain(snapshot(t, name)),
			said:   plain(wire.said(t, protocol.LockChannel(name), protocol.RWChannel(name))),
		})
	}
	return scenes
}

// passing are keys that Redisson makes for the length of one request.
var passing = regexp.MustCompile(`^redisson_unlock_latch:`)

// snapshot writes down every key that has to do with a name: what is in it, and in the
// steps of ten seconds for how long it lives.
func snapshot(t *testing.T, name string) string {
	t.Helper()
	server := redistest.Shared(t)
	var b strings.Builder
	for _, key := range server.Keys(t, "*"+redisGlob(name)+"*") {
		if passing.MatchString(key) {
			continue
		}
		kind := server.CLI(t, "TYPE", key).(string)
		ttl := "none"
		if left := server.PTTL(t, key); left >= 0 {
			ttl = tens(left)
		}
		fmt.Fprintf(&b, "%s %s %s (%s)\n", key, kind, content(t, kind, key), ttl)
	}
	return b.String()
}

func redisGlob(name string) string {
	return strings.NewReplacer("[", `\[`, "?", `\?`, "*", `\*`).Replace(name)
}

// tens rounds up to whole tens of seconds, so that a slow machine makes no difference.
func tens(d time.Duration) string {
	const ten = 10 * time.Second
	return ((d + ten - 1) / ten * ten).String()
}

// content is the value of a key, in an order of its own where it has none. A score is
// written as the time until then.
func content(t *testing.T, kind, key string) string {
	t.Helper()
	server := redistest.Shared(t)
	switch kind {
	case "hash":
		words := server.CLI(t, "HGETALL", key).([]any)
		var pairs []string
		for i := 0; i < len(words); i += 2 {
			pairs = append(pairs, fmt.Sprintf("%s=%s", words[i], words[i+1]))
		}
		slices.SortFunc(pairs, func(a, b string) int { return strings.Compare(tail(a), tail(b)) })
		return strings.Join(pairs, " ")
	case "list":
		return fmt.Sprint(server.CLI(t, "LRANGE", key, "0", "-1"))
	case "zset":
		words := server.CLI(t, "ZRANGE", key, "0", "-1", "WITHSCORES").([]any)
		var pairs []string
		for i := 0; i < len(words); i += 2 {
			ms := redistest.Must(strconv.ParseFloat(words[i+1].(string), 64))
			pairs = append(pairs, fmt.Sprintf("%s in %s", words[i], tens(time.Until(time.UnixMilli(int64(ms))))))
		}
		return strings.Join(pairs, " ")
	case "string":
		return server.CLI(t, "GET", key).(string)
	}
	return "?"
}

// tail orders owners of one client by their number, which is what both sides count up.
func tail(pair string) string {
	_, after, _ := strings.Cut(pair, ":")
	return after
}

// wiretap hears what is published.
type wiretap struct {
	redis    *rueidis.Driver
	listener driver.Listener
	heard    chan string
	acked    chan string
}

func newWiretap(t *testing.T) *wiretap {
	t.Helper()
	redis, err := rueidis.Open(t.Context(), rueidis.Options{Address: redistest.Shared(t).Addr(), CommandTimeout: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	w := &wiretap{redis: redis, heard: make(chan string, 1000), acked: make(chan string, 1000)}
	w.listener, err = redis.Listen(t.Context(), driver.Events{
		Subscribed: func(channel string) { w.acked <- channel },
		Message:    func(channel, payload string) { w.heard <- channel + " " + payload },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.listener.Close(); redis.Close() })
	return w
}

func (w *wiretap) listen(t *testing.T, channels ...string) {
	t.Helper()
	if err := w.listener.Subscribe(t.Context(), channels...); err != nil {
		t.Fatal(err)
	}
	for range channels {
		<-w.acked
	}
}

// said returns what was published on the channels since the last call. A message of its
// own marks the end.
func (w *wiretap) said(t *testing.T, channels ...string) string {
	t.Helper()
	const mark = "777"
	var all []string
	for _, channel := range channels {
		redistest.Shared(t).CLI(t, "PUBLISH", channel, mark)
		for message := range w.heard {
			if message == channel+" "+mark {
				break
			}
			all = append(all, message)
		}
	}
	return strings.Join(all, ", ")
}
