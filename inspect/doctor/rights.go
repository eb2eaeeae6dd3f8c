package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/script"
)

// The rights of a user are found out by redis.acl_check_cmd (Redis 7), which says in a script whether
// the user may send a command. Nothing is carried out.

// probe is one thing that a user must be allowed.
type probe struct {
	use   string   // what it is for
	words []string // of the command
	part  string   // the command as SETUSER has it
	on    string   // its key or channel, "" for none
	grant string   // the pattern for that as SETUSER has it, "" for none
}

// The uses of rights.
const (
	forLocks    = "locks"
	forMessages = "messages"
	forNames    = "names"
	forReplicas = "WithReplicas"
	forProtect  = "Config.Protect"
	forCohorts  = "WithCohort with WithFencing"
	forPermits  = "semaphores and latches"
	forNotes    = "notes and recalls"
	forCluster  = "a Cluster"
)

// plain are commands without a key, and keyed are those on the key of a lock, with their arguments.
// docs/acl.md has the same commands.
const (
	plain = "ping; info; select 0; client|setname x; time; eval x 0; evalsha x 0"
	keyed = "del; unlink; exists; memory|usage; persist; pexpire 1; pttl; get; set x; strlen; incr; " +
		"hdel x; hexists x; hget x; hgetall; hlen; hrandfield; hscan 0; hset x x; hstrlen x; " +
		"lindex 0; llen; lpop; lpos x; lrange 0 0; lrem 0 x; ltrim 0 0; rpush x; " +
		"zadd 0 x; zcard; zmscore x; zrangebyscore 0 0; zrem x; zrevrange 0 0; zscore x"
	ofProtect = "hscan 0; hstrlen x; zcount 0 0; zrangebyscore 0 0"
	ofPermits = "incrby 1; mset x; zcount 0 0; zrange 0 0; zremrangebyscore 0 0"
	ofCluster = "asking; cluster|info; cluster|nodes; cluster|slots"
)

// probes are what the locks need.
func probes(cfg Config, sharded, shards bool) (all []probe) {
	name := cfg.Prefix + "redlatch-doctor"
	add := func(use, commands, key, pattern string) {
		for command := range strings.SplitSeq(commands, "; ") {
			one := newProbe(use, command, key)
			if one.on != "" {
				one.grant = grant(cfg.Prefix, pattern)
			}
			all = append(all, one)
		}
	}
	ours := "~redlatch:*:{" + cfg.Prefix + "*"
	add(forLocks, plain, "", "")
	add(forLocks, keyed, name, "~"+cfg.Prefix+"*")
	add(forLocks, "pttl", protocol.ReadTimeoutKey(name, "x", 1), "~{"+cfg.Prefix+"*")
	add(forLocks, "pttl", protocol.FairQueue(name), "~redisson_*:{"+cfg.Prefix+"*")
	add(forLocks, "pttl", protocol.FairKeepAlives(name), ours)
	add(forMessages, "publish 0; subscribe; unsubscribe", protocol.LockChannel(name), "&redisson_*:{"+cfg.Prefix+"*")
	add(forNames, "client|list", "", "")
	add(forCohorts, "incrby 1", name, "~"+cfg.Prefix+"*")
	add(forPermits, ofPermits, name, "~"+cfg.Prefix+"*")
	add(forPermits, "pttl", protocol.RequestKey(name, "x", 1), ours)
	add(forNotes, "pttl", protocol.NoteKey(name, "x"), ours)
	add(forPermits, "subscribe", protocol.LatchChannel(name), "&redisson_countdownlatch__channel__{"+cfg.Prefix+"*")
	if cfg.Replicas > 0 {
		add(forReplicas, "wait 0 0", "", "")
	}
	add(forProtect, ofProtect, protocol.SessionKey("x"), "~redlatch:session:*")
	add(forProtect, "pttl", protocol.Sessions, "~"+protocol.Sessions)
	add(forProtect, "pttl", protocol.Watchdogs, "~"+protocol.Watchdogs)
	add(forProtect, "subscribe", protocol.PulseChannel("x", "y"), "&redlatch:pulse:*")
	if sharded {
		add(forCluster, ofCluster, "", "")
	}
	if sharded && shards {
		add(forMessages, "spublish 0; ssubscribe; sunsubscribe; pubsub|shardnumsub", protocol.LockChannel(name), "&redisson_*:{"+cfg.Prefix+"*")
	}
	return all
}

// grant is a pattern as SETUSER has it. Without a prefix the locks need all keys, and SETUSER refuses a
// further pattern behind ~*. The prefix has no special character, and a pattern has no space.
func grant(prefix, on string) string {
	if prefix == "" && strings.HasPrefix(on, "~") {
		return "~*"
	}
	front, rest, ok := strings.Cut(on, prefix)
	if prefix == "" || !ok {
		return on
	}
	return front + literal.Replace(prefix) + rest
}

var literal = strings.NewReplacer("*", `\*`, "?", `\?`, "[", `\[`, `\`, `\\`, " ", "?")

// cliWord is a text as one word of redis-cli.
func cliWord(text string) string {
	if !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"'\`, r) }) {
		return text
	}
	var word strings.Builder
	for _, c := range []byte(text) {
		switch {
		case c == '"' || c == '\\':
			word.WriteString(`\` + string(rune(c)))
		case c < ' ' || c >= 0x7f:
			fmt.Fprintf(&word, `\x%02x`, c)
		default:
			word.WriteByte(c)
		}
	}
	return `"` + word.String() + `"`
}

// newProbe makes a probe of a command, its subcommand behind a bar, and the arguments behind its key.
func newProbe(use, command, key string) probe {
	words := strings.Fields(command)
	p := probe{use: use, part: "+" + words[0], on: key}
	p.words = strings.Split(words[0], "|")
	if key != "" {
		p.words = append(p.words, key)
	}
	p.words = append(p.words, words[1:]...)
	if p.words[0] == "unsubscribe" || p.words[0] == "sunsubscribe" || p.words[0] == "pubsub" {
		p.on = "" // anybody may end a subscription, or count one
	}
	return p
}

func (p probe) name() string { return strings.Join(p.words, " ") }

// mayI answers for each command, whose words follow their number, whether this user may send it.
const mayI = `
local reply, at = {}, 1
while at <= #ARGV do
  local n = tonumber(ARGV[at])
  local known, may = pcall(redis.acl_check_cmd, unpack(ARGV, at + 1, at + n))
  reply[#reply + 1] = (not known and -1) or (may and 1) or 0
  at = at + n + 1
end
return reply`

// canTell says whether the server knows the function that the script needs.
const canTell = "return redis.acl_check_cmd and 1 or 0"

func (p *server) readRights(ctx context.Context, cfg Config) {
	reply := p.ask(ctx, []string{"EVAL", canTell, "0"})[0]
	switch {
	case reply.Err != nil:
		p.rightsErr = reply.Err
		return
	case reply.Int == 0:
		p.rightsErr = errOld
		return
	}
	all := probes(cfg, p.sharded, p.shardMessages())
	words := []string{"EVAL", mayI, "0"}
	for _, one := range all {
		words = append(append(words, fmt.Sprint(len(one.words))), one.words...)
	}
	reply = p.ask(ctx, words)[0]
	if p.rightsErr = reply.Err; reply.Err != nil || len(reply.Array) != len(all) {
		p.rightsErr = cmp.Or(reply.Err, errOld)
		return
	}
	p.allowed = make(map[string]bool)
	for i, one := range all {
		p.allowed[one.name()] = reply.Array[i].Int != 0 // a command that it does not know is no right
	}
}

var errOld = errors.New("the server cannot say what a user may do (redis.acl_check_cmd, Redis 7)")

// shardMessages says that the server knows SPUBLISH.
func (p *server) shardMessages() bool {
	name, version := p.product()
	return name == "Valkey" || name == "Redis" && atLeast(version, 7, 0)
}

// rights makes one check for each use.
func rights(p *server, cfg Config) []Check {
	c := Check{Code: "rights"}
	user := cmp.Or(p.user, "USER")
	all := probes(cfg, p.sharded, p.shardMessages())
	switch {
	case script.Code(p.rightsErr) == "NOPERM":
		c.Why = consequences[forLocks].text
		var missing []probe
		for _, one := range all {
			if one.use == forLocks || one.use == forMessages {
				missing = append(missing, one)
			}
		}
		c.Mend = setUser(user, missing)
		return c.found(Danger, "the user may not run scripts: "+p.rightsErr.Error())
	case p.rightsErr != nil:
		c.Why = consequences[forLocks].text
		return c.unknown("the rights of its user: "+p.rightsErr.Error(), "as docs/acl.md says")
	}
	var checks []Check
	for _, use := range uses {
		if missing := p.missing(all, use); len(missing) > 0 {
			c.Why, c.Mend = consequences[use].text, setUser(user, missing)
			seen := "for " + use + " the user lacks " + strings.Join(partsOf(missing), " ")
			checks = append(checks, c.found(consequences[use].severity, seen)...)
		}
	}
	if len(checks) == 0 {
		c.Why = consequences[forLocks].text
		return c.fine("the user has every right that the locks need")
	}
	return checks
}

// uses are the uses of rights in the order of their checks.
var uses = []string{forLocks, forCluster, forReplicas, forMessages, forProtect, forNames, forCohorts, forPermits, forNotes}

var consequences = map[string]struct {
	severity Severity
	text     string
}{
	forLocks:    {Danger, "requests are refused: locks cannot be taken, or cannot be given back"},
	forCluster:  {Danger, "the client does not find the servers, or does not follow a slot that moves"},
	forReplicas: {Danger, "no lock is granted with WithReplicas"},
	forMessages: {Warning, "no message wakes a waiter: it asks each Config.PollCap, or sooner with Config.Backoff"},
	forProtect:  {Note, "with Config.Protect the client reports that it is not protected"},
	forNames:    {Note, "the process behind an owner stays unknown"},
	forCohorts:  {Note, "a cohort gets no fencing tokens"},
	forPermits:  {Note, "requests for permits are refused, or no message wakes those who wait for a latch"},
	forNotes:    {Note, "holds have no note, and nobody can ask for a lock"},
}

// missing are the probes for one use that were refused. If all commands on a key were refused, it
// is its pattern that is missing, and perhaps the commands.
func (p *server) missing(all []probe, use string) (missing []probe) {
	some := make(map[string]bool) // keys and channels that are allowed
	for _, one := range all {
		some[one.on] = some[one.on] || p.allowed[one.name()]
	}
	for _, one := range all {
		if one.use != use || p.allowed[one.name()] {
			continue
		}
		if some[one.on] {
			one.grant = ""
		}
		missing = append(missing, one)
	}
	return missing
}

// partsOf are the rights that some probes need, each once: patterns first.
func partsOf(probes []probe) (parts []string) {
	for _, pattern := range []bool{true, false} {
		for _, one := range probes {
			part := one.part
			if pattern {
				part = one.grant
			}
			if part != "" && !slices.Contains(parts, part) {
				parts = append(parts, part)
			}
		}
	}
	return parts
}

// setUser is the command that adds what is missing.
func setUser(user string, missing []probe) string {
	words := []string{"ACL", "SETUSER", user}
	words = append(words, partsOf(missing)...)
	for i, word := range words {
		words[i] = cliWord(word)
	}
	return strings.Join(words, " ")
}
