package explore

import (
	"testing"
	"time"

	"github.com/redlatch/redlatch/robustness/internal/mutation"
)

// mutations are changes to scripts that break them, and where that is to be found.
var mutations = []struct {
	what, world string
	mutation.Mutation
}{
	{"a release ignores the owner", "mutex, two clients", mutation.In("release", "redis.pcall(verb, lock, owner)", "redis.pcall('DEL', lock)")},
	{"a release tells nobody", "mutex, two clients", mutation.In("release", "return announce(ARGV[4], ARGV[5])", "return 0")},
	{"a partial release frees the lock", "mutex, two clients", mutation.In("release", "ARGV[2] == '0'", "true")},
	{"an acquisition adds to the count", "mutex, two clients", mutation.In("acquire", "'HSET', lock, owner, count", "'HINCRBY', lock, owner, 1")},
	{"a TTL is set and not raised", "mutex, two clients", mutation.In("acquire", "raise(lock, lease)", "redis.call('PEXPIRE', lock, lease)")},
	{"a TTL is lowered by a renewal", "mutex, two clients", mutation.In("renew", "raise(lock, lease)", "redis.call('PEXPIRE', lock, ARGV[7 * i - 3] - 500)")},
	{"a grant without PEXPIRE", "mutex, two clients", mutation.In("acquire", "  begin(lock, lease)\n", "")},
	{"everybody is granted", "mutex, two clients", mutation.In("acquire", "type(found) == 'table'", "false")},
	{"a renewal for whoever asks", "mutex, two clients", mutation.In("renew", "if here == 1 or", "if here == 0 or here == 1 or")},
	{"a re-entry into Redisson's hold", "mutex, two clients and Redisson", mutation.In("acquire", "type(found) == 'table'", "type(found) == 'table' and found[1] > 1000")},
	{"a token that is not counted", "fenced mutex, two clients", mutation.In("acquire", "size == 1 and redis.pcall('INCR', counter) or redis.pcall('INCRBY', counter, size)", "tonumber(redis.call('GET', counter) or 1)")},
	{"a block is counted as one token", "fenced mutex, two clients, blocks of tokens", mutation.In("acquire", "redis.pcall('INCRBY', counter, size)", "redis.pcall('INCR', counter)")},
	{"a block of a writer is counted as one token", "fenced read-write, two clients, blocks of tokens", mutation.In("rw_acquire", "redis.pcall('INCRBY', counter, size)", "redis.pcall('INCR', counter)")},
	{"the counter of tokens gets a TTL", "fenced mutex, two clients", mutation.In("acquire", "redis.call('PERSIST', counter)", "redis.call('PEXPIRE', counter, 2000)")},
	{"the mode stays on a downgrade", "read-write, two clients", mutation.In("rw_release", "  redis.call('HSET', lock, 'mode', 'read')\n", "")},
	{"a downgrade tells nobody", "read-write, two clients", mutation.In("rw_release", "  return announce(ARGV[7], ARGV[9])\n", "  return 0\n")},
	{"a reader without a timeout key", "read-write, two clients", mutation.In("rw_acquire", "  refused = keep_hold(KEYS[hold], lease)\n", "")},
	{"a reader may write", "read-write, two clients", mutation.In("rw_acquire", "if holder then", "if holder == '' then")},
	{"a writer ends with its first hold", "read-write, two clients", mutation.In("rw_release", "local remain = writes + reads > 0 or find_living(prefix, owner, writer)", "local remain = find_living(prefix, owner, writer)")},
	{"who reads ends the lock of others", "read-write, two clients", mutation.In("rw_release", "or find_living(prefix, owner, writer)", "")},
	{"the read hold of a writer ends early", "read-write, two clients", mutation.In("rw_release", "lease = ms(math.max(redis.call('PTTL', lock), tonumber(lease)))", "lease = lease")},
	{"half of a Multi", "multi of two, twice", mutation.In("multi_acquire", "for i = 1, #KEYS do\n  if redis.call('HSET'", "for i = 1, 1 do\n  if redis.call('HSET'")},
	{"a Multi's second owner is the first", "multi of two, twice", mutation.In("multi_acquire", "held(KEYS[i], ARGV[i + 1])", "held(KEYS[i], ARGV[2])")},
	{"a Multi checks its first member alone", "multi of two, twice", mutation.In("multi_acquire", "for i = 1, #KEYS do\n  local found", "for i = 1, 1 do\n  local found")},
	{"a grant without PEXPIRE, in a queue", "fair mutex, two clients", mutation.In("fair_acquire", "    begin(lock, lease)\n", "")},
	{"whoever comes is granted", "fair mutex, two clients", mutation.In("fair_acquire", "if not holder and (not first or first == owner) then", "if not holder then")},
	{"who comes stands at the front", "fair mutex, two clients", mutation.In("fair_acquire", "redis.call('RPUSH', queue, owner)", "redis.call('LPUSH', queue, owner)")},
	{"an outage counts as silence", "fair mutex, two clients", mutation.In("fair_acquire", "return at + silence <= now and outage() + silence <= now", "return at + silence <= now")},
	{"the queue of the dead stays", "fair mutex, two clients", mutation.In("fair_acquire", "ipairs({queue, deadlines, keepalives})", "ipairs({})")},
	{"who is granted stays in the queue", "fair mutex, two clients", mutation.In("fair_acquire", "redis.call('ZREM', deadlines, owner)", "")},
	{"who queues again stands there twice", "fair mutex, two clients", mutation.In("fair_acquire", "if not queued then", "if true then")},
	{"a release does not tell the next", "fair mutex, two clients", mutation.In("fair_release", "told = announce(", "told = #(")},
	{"who leaves from the front tells nobody", "fair mutex, two clients", mutation.In("fair_release", "was == owner or removed > 0", "false")},
	{"who leaves late tells nobody", "fair mutex, two clients", mutation.In("fair_release", "(was == owner or removed > 0)", "was == owner")},
	{"a renewal confirms a read hold of which it does not know", "read-write, two clients", mutation.In("renew", "writer ~= '' and holds == 0", "false")},
	{"who leaves stays among the deadlines", "fair mutex, two clients", mutation.In("fair_release", "redis.call('ZREM', deadlines, owner) == 1", "redis.call('ZSCORE', deadlines, owner)")},
	{"silent clients count as alive", "fair mutex, two clients", mutation.In("fair_acquire", "return at + silence <= now and", "return false and")},
	{"live clients count as dead", "fair mutex, two clients", mutation.In("fair_acquire", "return at + silence <= now and outage() + silence <= now", "return true")},
	{"a watchdog makes a lease shorter", "mutex, two clients, a watchdog", mutation.In("session_renew", "if held and left < lease then", "if held then")},
	{"a watchdog makes a read hold shorter", "read-write, two clients, a watchdog", mutation.In("session_renew", "if ttl >= 0 and ttl < lease then", "if true then")},
	{"a permit is not counted", "a permit, two clients", mutation.In("permit_acquire", "  redis.call('INCRBY', counter, -1)\n", "")},
	{"a permit whose id has it is counted again", "a permit, two clients", mutation.In("permit_acquire", "if score then", "if false then")},
	{"a permit for a dead semaphore", "a semaphore with a TTL, two clients", mutation.In("permit_acquire", "if redis.call('PTTL', counter) < 0 then", "if true then")},
	{"a permit is given out where some are owed", "permits, two clients, resized", mutation.In("permit_acquire", "not score and left < 1", "not score and left == 0")},
	{"the permits of the dead stay in use", "a permit, two clients", mutation.In("permit_acquire", "score and 0 or put_back(counter, set)", "0")},
	{"the permits of the living come back", "two permits, three clients", mutation.In("permit_acquire", "0, ms(server_time())", "0, ms(server_time() + 1000)")},
	{"permits come back and nobody is told", "two permits, three clients", mutation.In("permit_acquire", "if back > 0 then", "if false then")},
	{"the lease of a permit is made shorter", "a permit, two clients", mutation.In("permit_acquire", "math.max(expiry, tonumber(score))", "expiry - 500")},
	{"a permit that has expired is renewed", "a permit, two clients", mutation.In("permit_renew", "tonumber(score) <= time or", "")},
	{"a renewal that says nothing to Redis", "a permit, two clients", mutation.In("permit_renew", "math.max(time + lease, tonumber(score))", "tonumber(score)")},
	{"a permit stays in use when it is put back", "a permit, two clients", mutation.In("permit_release", "redis.call('ZREM', set, unpack(ids))", "")},
	{"a permit is put back and nobody is told", "a permit, two clients", mutation.In("permit_release", "announce_count(ARGV[2], ARGV[3], give(counter, set, {id}, score))", "give(counter, set, {id}, score)")},
	{"a permit that has expired is put back in time", "a permit, two clients", mutation.In("permit_release", "tonumber(score) > server_time() and told or -1", "told")},
	{"who made a ticket stays in the lock", "mutex, two clients, tickets", mutation.In("move", "redis.call('HDEL', lock, from, (string.gsub(from, ':write$', '')))", "")},
	{"whoever comes late has the hold of a ticket", "mutex, two clients, tickets", mutation.In("move", "redis.call('HEXISTS', lock, from) == 0", "false")},
	{"a move asks for no lease", "fair mutex, two clients, tickets", mutation.In("move", "confirm(lock, lease)\nif", "if")},
	{"the timeout key of a reader does not move", "read-write, two clients, tickets", mutation.In("move", "if KEYS[3] then", "if false then")},
	{"who made a ticket keeps the permit", "a permit, two clients, tickets", mutation.In("permit_move", "redis.call('ZREM', set, from)", "")},
	{"a repeated resizing counts twice", "permits, two clients, resized", mutation.In("semaphore_add", "if before then", "if false then")},
}

// Goal: what would be a defect is found. Method: each mutation is put into the text of its
// script, and a search has to find a violation.
func TestLongMutationsAreFound(t *testing.T) {
	t.Parallel()
	for _, m := range mutations {
		t.Run(m.what, func(t *testing.T) {
			t.Parallel()
			r := exploring(t, m.world, Bound{Depth: 9, States: 500_000, Until: time.Now().Add(time.Hour)}, m.Mutation)
			if r.Violation == nil {
				t.Fatalf("was not found: %v", r)
			}
			t.Logf("%v\n%v", r, r.Violation)
		})
	}
}
