package explore

import (
	"strconv"

	"github.com/redlatch/redlatch/internal/protocol"
)

// The scripts of Redisson's threads have its behaviour, without its keys for repeated requests. Each
// replies in one word: granted, refused, gone, remains or freed.

// javaKeys are the lock, the two keys of its queue, and the permits in use of a semaphore.
var javaKeys = []string{lockName, protocol.FairQueue(lockName), protocol.FairDeadlines(lockName), protocol.PermitsInUse(lockName)}

// words are the field of an owner, the lease, two channels, the prefix of the timeout keys, the slot of a
// waiter, and the channel of a semaphore.
func (t thread) words(owner string) []string {
	return []string{
		owner + t.field, strconv.Itoa(lease), protocol.RWChannel(lockName), protocol.LockChannel(lockName),
		protocol.ReadTimeoutPrefix(lockName), strconv.Itoa(slot), protocol.SemaphoreChannel(lockName),
	}
}

// The threads that take a lock of each kind.
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
return 'freed'`, renew: renew}

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
return 'freed'`, renew: renew}

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
var javaFair = thread{once: true, lock: prune + `
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
return 'refused'`, unlock: prune + `
local held = redis.call('HEXISTS', lock, owner) == 1
if not held and redis.call('EXISTS', lock) == 1 then
  return 'gone'
end
redis.call('DEL', lock)
local first = redis.call('LINDEX', queue, 0)
if first then
  redis.call('PUBLISH', ARGV[4] .. ':' .. first, 0)
end
return 'freed'`, renew: renew, leave: `
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

// javaPermit is a thread that takes a permit of a semaphore. Its field is the id of the permit, and its clock is
// that of the server.
var javaPermit = thread{once: true, lock: inPermits + `
local expired = redis.call('ZRANGEBYSCORE', inUse, 0, now, 'LIMIT', 0, 100)
if #expired > 0 then
  redis.call('ZREM', inUse, unpack(expired))
  local free = redis.call('INCRBY', counter, #expired)
  if free > 0 then
    redis.call('PUBLISH', channel, free)
  end
end
if tonumber(redis.call('GET', counter) or 0) < 1 then
  return 'refused'
end
redis.call('INCRBY', counter, -1)
redis.call('ZADD', inUse, string.format('%.0f', now + ARGV[2]), id)
return 'granted'`, unlock: inPermits + `
local expiry = redis.call('ZSCORE', inUse, id)
if not expiry then
  return 'gone'
end
redis.call('ZREM', inUse, id)
redis.call('PUBLISH', channel, redis.call('INCRBY', counter, 1))
return tonumber(expiry) > now and 'freed' or 'gone'`, renew: inPermits + `
local expiry = redis.call('ZSCORE', inUse, id)
if not expiry or tonumber(expiry) <= now then
  return 'gone'
end
redis.call('ZADD', inUse, string.format('%.0f', now + ARGV[2]), id)
return 'granted'`}

// javaSemaphore is a thread that takes one permit that nobody owns.
var javaSemaphore = thread{lock: `
if tonumber(redis.call('GET', KEYS[1]) or 0) < 1 then
  return 'refused'
end
redis.call('INCRBY', KEYS[1], -1)
return 'granted'`, unlock: `
redis.call('PUBLISH', ARGV[7], redis.call('INCRBY', KEYS[1], 1))
return 'freed'`}

// javaLatch is a thread that closes a latch with the count 1, and counts it down.
var javaLatch = thread{lock: `
if redis.call('EXISTS', KEYS[1]) == 1 then
  return 'refused'
end
redis.call('SET', KEYS[1], 1)
return 'granted'`, unlock: `
if redis.call('DECR', KEYS[1]) <= 0 then
  redis.call('DEL', KEYS[1])
end
return 'freed'`}

const inPermits = `
local counter, inUse, id, channel = KEYS[1], KEYS[4], ARGV[1], ARGV[7]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)`

const prune = `
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

const renew = `
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then
  return 'gone'
end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 'granted'`
