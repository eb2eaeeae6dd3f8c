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

// step is one step of a script of two threads, and where the two libraries are known to
// leave different things: what Java leaves there is in the transcript already, ours is
// here.
type step struct {
	thread int
	do     func(name string) command
	ours   string // how our state differs: "old => new", or ""
	says   string // our message where Java says nothing
}

func on(thread int, verb func(kind, name string) command, kind string, lease time.Duration) step {
	return step{thread: thread, do: func(name string) command {
		c := verb(kind, name)
		if lease > 0 {
			c = c.leased(lease)
		}
		return c
	}}
}

// scripts are the steps; a lease of 30 s is the renewed one, 100 s a fixed one.
var scripts = map[string][]step{
	"mutex renewed": {
		on(1, lock, "mutex", 0), on(1, lock, "mutex", 0), on(2, tryLock, "mutex", 0),
		on(1, unlock, "mutex", 0), on(1, unlock, "mutex", 0),
		on(2, tryLock, "mutex", 0), on(2, unlock, "mutex", 0),
	},
	"mutex fixed": {
		on(1, lock, "mutex", 100*time.Second), on(1, lock, "mutex", 100*time.Second),
		on(1, unlock, "mutex", 0), on(1, unlock, "mutex", 0),
	},
	"mutex shorter inside": {
		on(1, lock, "mutex", 100*time.Second),
		// Redisson sets the TTL to the lease given last, also where that lowers it.
		leaving(on(1, lock, "mutex", 30*time.Second), "(30s) => (1m40s)"),
		leaving(on(1, unlock, "mutex", 0), "(30s) => (1m40s)"), on(1, unlock, "mutex", 0),
	},
	"mutex forced": {on(1, lock, "mutex", 0), on(2, forceUnlock, "mutex", 0), on(2, forceUnlock, "mutex", 0)},
	"fenced renewed": {
		on(1, lock, "fenced", 0), on(2, tryLock, "fenced", 0), on(1, unlock, "fenced", 0),
		on(2, tryLock, "mutex", 0), on(2, unlock, "mutex", 0),
		on(2, tryLock, "fenced", 0), on(2, unlock, "fenced", 0),
	},
	"fenced reentered": {
		on(1, lock, "fenced", 0),
		// A hold keeps its token; Redisson issues one for every count.
		leaving(on(1, lock, "fenced", 0), "redisson_lock_token:{N} string 2 => redisson_lock_token:{N} string 1"),
		leaving(on(1, unlock, "fenced", 0), "redisson_lock_token:{N} string 2 => redisson_lock_token:{N} string 1"),
		leaving(on(1, unlock, "fenced", 0), "redisson_lock_token:{N} string 2 => redisson_lock_token:{N} string 1"),
	},
	"fenced fixed": {on(1, lock, "fenced", 100*time.Second), on(1, unlock, "fenced", 0)},
	"fenced forced": {
		on(1, lock, "fenced", 0), on(2, forceUnlock, "fenced", 0), on(2, forceUnlock, "fenced", 0),
		on(2, lock, "fenced", 0), on(2, unlock, "fenced", 0),
	},
	"fair renewed": {
		on(1, lock, "fair", 0), on(1, lock, "fair", 0), on(2, tryLock, "fair", 0),
		on(1, unlock, "fair", 0), on(1, unlock, "fair", 0),
	},
	"fair shorter inside": {
		on(1, lock, "fair", 100*time.Second), leaving(on(1, lock, "fair", 30*time.Second), "(30s) => (1m40s)"),
		leaving(on(1, unlock, "fair", 0), "(30s) => (1m40s)"), on(1, unlock, "fair", 0),
	},
	"fair fixed":  {on(1, lock, "fair", 100*time.Second), on(1, unlock, "fair", 0)},
	"fair forced": {on(1, lock, "fair", 0), on(2, forceUnlock, "fair", 0)},
	"read renewed": {
		on(1, lock, "read", 0), on(1, lock, "read", 0), on(2, lock, "read", 0), on(3, tryLock, "write", 0),
		on(1, unlock, "read", 0), on(1, unlock, "read", 0), on(2, unlock, "read", 0),
	},
	"read fixed": {
		on(1, lock, "read", 100*time.Second), on(2, lock, "read", 0),
		// Redisson lowers the TTL to what the other needs, we never lower it.
		leaving(on(1, unlock, "read", 0), "N hash mode=read O2=1 (30s) => N hash mode=read O2=1 (1m40s)"),
		on(2, unlock, "read", 0),
	},
	"read longer second": {
		on(1, lock, "read", 0), on(2, lock, "read", 100*time.Second), on(1, unlock, "read", 0), on(2, unlock, "read", 0),
	},
	"read shorter inside": {
		on(1, lock, "read", 100*time.Second), on(1, lock, "read", 30*time.Second),
		on(1, unlock, "read", 0), on(1, unlock, "read", 0),
	},
	"read forced": {
		on(1, lock, "read", 0), on(1, lock, "read", 0),
		// Redisson leaves the timeout keys of the readers behind.
		leaving(on(2, forceUnlock, "read", 0), "{N}:O1:rwlock_timeout:1 string 1 (30s)\n{N}:O1:rwlock_timeout:2 string 1 (30s)\n =>"),
	},
	"write renewed": {
		on(1, lock, "write", 0), on(2, tryLock, "write", 0), on(2, tryLock, "read", 0), on(1, unlock, "write", 0),
	},
	"write reentered": {
		on(1, lock, "write", 0),
		// Redisson adds the lease to what is left (its flaw F19), we do not.
		leaving(on(1, lock, "write", 0), "(1m0s) => (30s)"),
		on(1, unlock, "write", 0), on(1, unlock, "write", 0),
	},
	"write shorter inside": {
		on(1, lock, "write", 100*time.Second), leaving(on(1, lock, "write", 30*time.Second), "(2m10s) => (1m40s)"),
		leaving(on(1, unlock, "write", 0), "(30s) => (1m40s)"), on(1, unlock, "write", 0),
	},
	"write fixed":  {on(1, lock, "write", 100*time.Second), on(1, unlock, "write", 0)},
	"write forced": {on(1, lock, "write", 0), on(2, forceUnlock, "write", 0)},
	"read in write": {
		on(1, lock, "write", 0), on(1, lock, "read", 0), on(1, unlock, "read", 0), on(1, unlock, "write", 0),
	},
	"read in longer write": {
		on(1, lock, "write", 100*time.Second), on(1, lock, "read", 0), on(1, unlock, "read", 0), on(1, unlock, "write", 0),
	},
	"read longer in write": {
		on(1, lock, "write", 0), on(1, lock, "read", 100*time.Second), on(1, unlock, "read", 0), on(1, unlock, "write", 0),
	},
	"write longer downgraded": {
		on(1, lock, "write", 100*time.Second), on(1, lock, "read", 0),
		saying(on(1, unlock, "write", 0), "redisson_rwlock:{N} 1"), on(1, unlock, "read", 0),
	},
	"write downgraded": {
		on(1, lock, "write", 0), on(1, lock, "read", 0), on(2, tryLock, "read", 0),
		// Redisson tells nobody (its flaw F12), we tell the readers that wait.
		saying(on(1, unlock, "write", 0), "redisson_rwlock:{N} 1"),
		on(2, lock, "read", 0), on(1, unlock, "read", 0), on(2, unlock, "read", 0),
	},
}

func forceUnlock(kind, name string) command { return verb("forceUnlock", kind, name) }

func saying(s step, says string) step {
	s.says = says
	return s
}

func leaving(s step, ours string) step {
	s.ours = ours
	return s
}

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
			ms, err := strconv.ParseFloat(words[i+1].(string), 64)
			if err != nil {
				t.Fatal(err)
			}
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
