-- fair_force: free a fair lock, whoever holds it, or only if one owner does. Its queue
-- stays.
--
-- KEYS[1]  the lock: a hash with one field, the owner, whose value is the count
-- KEYS[2]  the queue
-- KEYS[3]  the deadlines
-- KEYS[4]  the keep-alives
-- ARGV[1]  the slot, in milliseconds
-- ARGV[2]  what the channels of all waiters begin with; ":" and the owner follow
-- ARGV[3]  the plan that announces a free lock
-- ARGV[4]  the only owner from whom to take it; absent: whoever holds it
--
-- Replies
--   1                the lock was held and is free now
--   0                it was free, or the owner of ARGV[4] does not hold it; nothing changed
--   error NOTLOCK    the key is a hash, but no such lock; or no owner is named, and it has
--                    no TTL or a holder whose name does not begin with a UUID, so that it
--                    may be somebody's data; nothing changed
--   error WRONGTYPE  the key is no hash; nothing changed
--
-- Announces ARGV[3] on the channel of the next waiter when the lock becomes free.
--
-- Redisson: forceUnlockAsync of RedissonFairLock.

local only = ARGV[4]

local holder, ttl, wrong = inspect()
if wrong then
  return wrong
end
if not holder or only and only ~= holder then
  return 0
end
local refusal = not only and maybe_data(ttl, holder)
if refusal then
  return refusal
end
redis.call('DEL', lock)
if too_long() then
  return 1 -- it is no queue, so nobody waits in it
end
local first = head(redis.call('LINDEX', queue, 0))
set_deadlines(tonumber(ARGV[1]), -2)
if first then
  announce(ARGV[2] .. ':' .. first, ARGV[3])
end
return 1
