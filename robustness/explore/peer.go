package explore

import (
	"fmt"
	"strconv"

	"github.com/redlatch/redlatch/internal/protocol"
)

const firstPeer = 4

// thread is a peer: a thread of a Redisson client, with a watchdog. Its requests are answered at
// once. Redisson counts by adding, so a request that is carried out twice leaves a lock that is
// held for ever. That is known, and these scripts cannot prevent it.
type thread struct {
	lock, unlock, renew string
	leave               string // the queue
	field               string // what follows the owner's name
	read, once          bool   // of several holds Redisson adds the leases, or loses one: its own affair
}

var peerKeys = []string{lockName, protocol.FairQueue(lockName), protocol.FairDeadlines(lockName)}

// lease is that of Redisson's watchdog.
const lease = 2 * second

func (t thread) moves(w *world, s state, i int, yield move) {
	p := s.peers[i]
	who := firstPeer + i
	ask := func(what, text string) (state, answer) {
		to := s
		words := []string{owners[who][1] + t.field, strconv.Itoa(lease), readers.Channel, protocol.LockChannel(lockName), "{" + lockName + "}", strconv.Itoa(slot)}
		r := w.redis.enter(opPeer, who, 1, text, peerKeys, words)
		fault := w.carryOut(&to, r, nil)
		said := w.redis.run(w.redis.all[s.keys], r).answer
		t.note(&to.peers[i], what, said)
		yield(to, fault, func() string { return fmt.Sprintf("%s does a %s: %s", name(who), what, said) })
		return to, said
	}
	if p.count == 0 || p.count == 1 && !t.once {
		ask("lock", t.lock)
	}
	ask("unlock", t.unlock)
	if p.count > 0 {
		ask("renewal", t.renew)
	}
	if t.leave != "" && p.count == 0 {
		ask("departure", t.leave)
	}
}

// note notes an answer to a peer.
func (t thread) note(p *peer, what string, said answer) {
	switch {
	case what == "departure" || said == refused:
	case said == gone:
		*p = peer{}
	case what == "lock" && said == granted:
		p.count, p.reads, p.until = p.count+1, t.read, lease
	case what == "renewal" && said == granted || what == "unlock" && said == remains && p.count > 1:
		p.until = lease
		if what == "unlock" {
			p.count--
		}
	case what == "unlock":
		*p = peer{}
	}
}

// The scripts of the peers have Redisson's behaviour, without its keys for repeated requests.
// KEYS[1] is the lock. ARGV are the field, the lease, two channels and the prefix of the timeout
// keys. readPeer reads the replies.
var (
	javaMutex = thread{lock: `
if redis.call('EXISTS', KEYS[1]) == 1 and redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then
  return 'refused'
end
redis.call('HINCRBY', KEYS[1], ARGV[1], 1)
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 'granted'`, unlock: `
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then
  return 'gone'
elseif redis.call('HINCRBY', KEYS[1], ARGV[1], -1) > 0 then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  return 'remains'
end
redis.call('DEL', KEYS[1])
redis.call('PUBLISH', ARGV[4], 0)
return 'freed'`, renew: javaRenew}

	javaWriter = thread{field: ":write", once: true, lock: `
local mode = redis.call('HGET', KEYS[1], 'mode')
if not mode then
  redis.call('HSET', KEYS[1], 'mode', 'write', ARGV[1], 1)
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
elseif mode == 'write' and redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 then
  redis.call('HINCRBY', KEYS[1], ARGV[1], 1)
  redis.call('PEXPIRE', KEYS[1], redis.call('PTTL', KEYS[1]) + ARGV[2])
else
  return 'refused'
end
return 'granted'`, unlock: `
local mode = redis.call('HGET', KEYS[1], 'mode')
if not mode then
  redis.call('PUBLISH', ARGV[3], 1)
end
if mode ~= 'write' or redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then
  return 'gone'
elseif redis.call('HINCRBY', KEYS[1], ARGV[1], -1) > 0 then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  return 'remains'
end
redis.call('HDEL', KEYS[1], ARGV[1])
if redis.call('HLEN', KEYS[1]) > 1 then
  redis.call('HSET', KEYS[1], 'mode', 'read')
else
  redis.call('DEL', KEYS[1])
  redis.call('PUBLISH', ARGV[3], 1)
end
return 'freed'`, renew: javaRenew}

	javaReader = thread{read: true, once: true, lock: `
local mode = redis.call('HGET', KEYS[1], 'mode')
if mode == 'write' then
  return 'refused'
end
redis.call('HSET', KEYS[1], 'mode', 'read')
local hold = redis.call('HINCRBY', KEYS[1], ARGV[1], 1)
redis.call('SET', ARGV[5] .. ':' .. ARGV[1] .. ':rwlock_timeout:' .. hold, 1, 'PX', ARGV[2])
redis.call('PEXPIRE', KEYS[1], math.max(redis.call('PTTL', KEYS[1]), tonumber(ARGV[2])))
return 'granted'`, unlock: `
local mode = redis.call('HGET', KEYS[1], 'mode')
if not mode then
  redis.call('PUBLISH', ARGV[3], 0)
end
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then
  return 'gone'
end
local left = redis.call('HINCRBY', KEYS[1], ARGV[1], -1)
if left == 0 then
  redis.call('HDEL', KEYS[1], ARGV[1])
end
redis.call('DEL', ARGV[5] .. ':' .. ARGV[1] .. ':rwlock_timeout:' .. (left + 1))
local longest = -3
local words = redis.call('HGETALL', KEYS[1])
for i = 1, #words, 2 do
  for hold = 1, tonumber(words[i + 1]) or 0 do
    longest = math.max(longest, redis.call('PTTL', ARGV[5] .. ':' .. words[i] .. ':rwlock_timeout:' .. hold))
  end
end
if longest > 0 then
  redis.call('PEXPIRE', KEYS[1], longest)
elseif mode ~= 'write' then
  redis.call('DEL', KEYS[1])
  redis.call('PUBLISH', ARGV[3], 0)
end
return left > 0 and 'remains' or 'freed'`, renew: `
local count = redis.call('HGET', KEYS[1], ARGV[1])
local lives = false
for hold = 1, tonumber(count) or 0 do
  local renewed = redis.call('PEXPIRE', ARGV[5] .. ':' .. ARGV[1] .. ':rwlock_timeout:' .. hold, ARGV[2])
  lives = lives or renewed == 1
end
if lives then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return count and 'granted' or 'gone'`}
)

// javaFair is a thread that waits in the queue of a fair lock. Its clock is that of the server.
var javaFair = thread{once: true, lock: javaPrune + `
local first = redis.call('LINDEX', queue, 0)
if redis.call('EXISTS', lock) == 0 and (not first or first == owner) then
  redis.call('LPOP', queue)
  redis.call('ZREM', deadlines, owner)
  for _, other in ipairs(redis.call('ZRANGE', deadlines, 0, -1)) do
    redis.call('ZINCRBY', deadlines, -wait, other)
  end
  redis.call('HSET', lock, owner, 1)
  redis.call('PEXPIRE', lock, ARGV[2])
  return 'granted'
end
if not redis.call('ZSCORE', deadlines, owner) then
  local last = redis.call('LINDEX', queue, -1)
  local base = now + redis.call('PTTL', lock)
  if last then
    base = tonumber(redis.call('ZSCORE', deadlines, last))
  end
  redis.call('ZADD', deadlines, string.format('%.0f', base + wait), owner)
  redis.call('RPUSH', queue, owner)
end
return 'refused'`, unlock: javaPrune + `
local held = redis.call('HEXISTS', lock, owner) == 1
if not held and redis.call('EXISTS', lock) == 1 then
  return 'gone'
end
redis.call('DEL', lock)
local first = redis.call('LINDEX', queue, 0)
if first then
  redis.call('PUBLISH', ARGV[4] .. ':' .. first, 0)
end
return 'freed'`, renew: javaRenew, leave: `
local queue, deadlines, owner, behind = KEYS[2], KEYS[3], ARGV[1], false
for _, other in ipairs(redis.call('LRANGE', queue, 0, -1)) do
  if behind then
    redis.call('ZINCRBY', deadlines, -ARGV[6], other)
  end
  behind = behind or other == owner
end
redis.call('ZREM', deadlines, owner)
redis.call('LREM', queue, 0, owner)
return 'freed'`}

const javaPrune = `
local lock, queue, deadlines, owner, wait = KEYS[1], KEYS[2], KEYS[3], ARGV[1], tonumber(ARGV[6])
local now = redis.call('TIME')[1] * 1000
while true do
  local first = redis.call('LINDEX', queue, 0)
  local deadline = first and redis.call('ZSCORE', deadlines, first)
  if not deadline or tonumber(deadline) > now then
    break
  end
  redis.call('ZREM', deadlines, first)
  redis.call('LPOP', queue)
end`

const javaRenew = `
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then
  return 'gone'
end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 'granted'`

func readPeer(said string) answer {
	return map[string]answer{"granted": granted, "refused": refused, "gone": gone, "remains": remains, "freed": freed}[said]
}
