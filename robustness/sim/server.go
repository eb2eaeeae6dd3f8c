package sim

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2/server"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/embedded"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/redistest"
)

// redis is one server: the embedded one, called without a network. Its clock may be fast, and may
// be set.
type redis struct {
	*timeline
	name    string
	mini    *embedded.Server
	scripts map[string]string // those that it knows, by digest

	began   time.Time
	drift   float64       // how much faster than others its clock is
	offset  time.Duration // by how much its clock was set
	runs    int           // how often it was started
	started time.Time     // by its clock

	down    bool
	refusal string // what it answers everything with; "" if nothing
	queue
	conns    []*conn        // that it takes for open
	lost     time.Time      // when it last lost data, or raised its clock
	robbed   func(s *redis) // is called when a lock was taken by force
	copied   []embedded.Key // of the replica
	copiedAt time.Time      // by its clock
	gossip   time.Duration  // to the other servers of a Cluster
	replicas []*replica     // of a server by itself
	written  int            // what the replicas are to receive, counted
	stream   int            // of what they receive; a failover begins another
	waits    []*wait
	random   *rand.Rand
	running  bool    // a script
	member   *member // of a Cluster; nil for a server by itself
}

func newRedis(t *timeline, name string, drift float64) *redis {
	s := &redis{timeline: t, name: name, mini: redistest.Must(embedded.New()), drift: drift, began: time.Now()}
	s.queue = queue{timeline: t}
	s.mini.ClockTTL(true)
	s.mini.Seed(1) // of HRANDFIELD
	s.mini.Server().SetPreHook(s.intercept)
	s.start()
	return s
}

// start begins a run of the server. It knows no script.
func (s *redis) start() {
	s.scripts = map[string]string{}
	s.runs++
	s.started = s.clock()
	s.down = false
	s.replicate()
}

// clock is the server's clock, in milliseconds as commands see it.
func (s *redis) clock() time.Time {
	passed := time.Since(s.began)
	return s.began.Add(passed + time.Duration(float64(passed)*s.drift) + s.offset).Truncate(time.Millisecond)
}

// local is a time of the server's clock on that of others.
func (s *redis) local(d time.Duration) time.Duration {
	return time.Duration(float64(d) / (1 + s.drift))
}

// tick lets keys expire, and returns the server's time.
func (s *redis) tick() time.Time {
	now := s.clock()
	s.mini.SetTime(now)
	return now
}

// run carries out commands.
func (s *redis) run(commands []driver.Command) []driver.Reply {
	s.tick()
	replies := make([]driver.Reply, len(commands))
	asking := false
	for i, c := range commands {
		if why := cmp.Or(s.refusal, s.redirect(c.Words, asking)); why != "" {
			replies[i].Err = &driver.ServerError{Message: why}
		} else if c.Words[0] != "ASKING" {
			replies[i] = s.command(c.Words)
		}
		asking = c.Words[0] == "ASKING"
	}
	s.replicate()
	return replies
}

func (s *redis) command(words []string) driver.Reply {
	switch words[0] {
	case "EVAL":
		digest := protocol.Digest(words[1])
		s.scripts[digest] = words[1]
		return s.eval(digest, words)
	case "EVALSHA":
		return s.eval(words[1], words)
	case "INFO":
		uptime := int(s.clock().Sub(s.started).Seconds())
		return driver.Reply{Str: fmt.Sprintf("run_id:%s-%d\r\nuptime_in_seconds:%d\r\n", s.name, s.runs, uptime)}
	case "WAIT":
		return driver.Reply{}
	case "CLUSTER":
		return s.describeCluster(words[1])
	case "PUBSUB":
		if words[1] == "SHARDNUMSUB" {
			return driver.Reply{}
		}
		return driver.Reply{Array: []driver.Reply{{Str: words[2]}, {Int: int64(len(s.subscribers(words[2], false)))}}}
	}
	return s.mini.Do(words...)
}

func (s *redis) eval(digest string, words []string) driver.Reply {
	text, known := s.scripts[digest]
	if !known {
		return driver.Reply{Err: &driver.ServerError{Message: "NOSCRIPT No matching script."}}
	}
	s.running = true
	reply := s.mini.Do(append([]string{"EVAL", text}, words[2:]...)...)
	if s.running = false; strings.HasSuffix(scriptName(text), "force") {
		s.robbed(s)
	}
	return reply
}

// intercept publishes.
func (s *redis) intercept(peer *server.Peer, command string, words ...string) bool {
	if s.running && s.elsewhere(command, words) {
		peer.WriteError("ERR Script attempted to access a non local key in a cluster node")
		return true
	}
	if command != "PUBLISH" && command != "SPUBLISH" {
		return false
	}
	if command == "PUBLISH" && s.member != nil {
		s.tellOthers(words[0], words[1])
	}
	all := s.subscribers(words[0], command == "SPUBLISH")
	for _, h := range all {
		h.hear(words[0], words[1])
	}
	peer.WriteInt(len(all))
	return true
}

// tellOthers passes a message on to the other servers of the Cluster.
func (s *redis) tellOthers(channel, payload string) {
	for _, other := range s.member.all {
		if other == s || other.down {
			continue
		}
		s.after(s.gossip, "", func() {
			other.when(func() {
				for _, h := range other.subscribers(channel, false) {
					h.hear(channel, payload)
				}
			})
		})
	}
}

// hear delivers a message to a subscriber.
func (h *listener) hear(channel, payload string) {
	h.tell("message "+channel+" "+strconv.Quote(payload), func() { h.events.Message(channel, payload) })
}

// subscribers are those who get what is published on a channel: everywhere, or in this server's shard alone.
func (s *redis) subscribers(channel string, shard bool) (all []*listener) {
	for _, c := range s.conns {
		if h := c.listener; h != nil && (!shard && slices.Contains(c.channels, channel) || shard && slices.Contains(c.shards, channel)) {
			all = append(all, h)
		}
	}
	return all
}

// queue is a sequence of things to do that can be stopped: what comes meanwhile is done later, in
// its order.
type queue struct {
	*timeline
	stopped bool
	waiting []func()
}

// when does something, at once or when the queue goes on.
func (q *queue) when(do func()) {
	if q.stopped {
		q.waiting = append(q.waiting, do)
		return
	}
	do()
}

// resume does what has waited, one after another.
func (q *queue) resume(what string) {
	if len(q.waiting) == 0 {
		q.stopped = false
		return
	}
	first := q.waiting[0]
	q.waiting = q.waiting[1:]
	first()
	q.after(20*time.Microsecond, what, func() { q.resume(what) })
}
