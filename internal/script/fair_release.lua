-- fair_release: release one hold of a fair lock, or the last one.
--
-- KEYS[1]  the lock: a hash with one field, the owner, whose value is the count
-- KEYS[2]  the queue
-- KEYS[3]  the deadlines
-- KEYS[4]  the keep-alives
-- ARGV[1]  owner, "clientUUID:number"
-- ARGV[2]  the owner's count after this call; 0 frees the lock
-- ARGV[3]  lease in milliseconds, for the holds that remain
-- ARGV[4]  the slot, in milliseconds
-- ARGV[5]  what the channels of all waiters begin with; ":" and the owner follow
-- ARGV[6]  the plan that announces a free lock
--
-- Replies
--   n >= 0           the lock is free; n subscribers were told: 0 when nobody waits, or
--                    when the list is too long to be a queue
--   -1               the owner does not hold the lock; it is not in the queue any more
--   -2               freed, but the server refused to publish
--   -3               holds remain; the TTL is at least ARGV[3]
--   error NOTLOCK    the key is a hash, but no such lock; it is as it was, and the owner is
--                    not in the queue any more
--   error WRONGTYPE  the key is no hash; as above
--
-- Announces ARGV[6] on the channel of the next waiter when the lock becomes free. It also takes
-- the owner out of the queue, so it serves to cancel an attempt. The TTL of holds that remain is
-- raised, never lowered.
--
-- Redisson: unlockInnerAsync of RedissonFairLock, which reports success when the lock is
-- gone.

local owner = ARGV[1]

local holder, _, wrong = inspect(owner)
local held = holder == owner
if held and ARGV[2] ~= '0' then
  confirm(lock, ARGV[3])
  redis.call('HSET', lock, owner, ARGV[2])
  return -3
end
if held then
  redis.call('DEL', lock)
end
local refusal = too_long()
if refusal then
  return held and 0 or wrong or refusal
end

local first, was = redis.call('LINDEX', queue, 0), nil
if not held then
  was = head(first)
  dequeue(owner)
  first = redis.call('LINDEX', queue, 0)
end
first = head(first)
if not first or removed > 0 or was == owner or not last_seen(first) then
  -- The grant that ends here checked the window behind a foreign head.
  set_deadlines(tonumber(ARGV[4]), redis.call('PTTL', lock), held and first and removed == 0 and 1 or nil)
end
if wrong then
  return wrong
end
local told = 0
-- A waiter that leaves from the front, or was just removed as dead, while the lock is free may
-- have been told of that. Then the next one has to be told.
if first and (held or not holder and (was == owner or removed > 0)) then
  told = announce(ARGV[5] .. ':' .. first, ARGV[6])
end
if not held then
  return gone(lock, owner) or -1
end
return told
