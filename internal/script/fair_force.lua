-- fair_force: free a fair lock, whoever holds it. Its queue stays.
--
-- KEYS[1]  the lock: a hash with one field, the owner, whose value is the count
-- KEYS[2]  the queue
-- KEYS[3]  the deadlines
-- KEYS[4]  the beats
-- ARGV[1]  the slot, in milliseconds
-- ARGV[2]  what the channels of all waiters begin with; ":" and the owner follow
-- ARGV[3]  the plan that announces a free lock
--
-- Replies
--   1                the lock was held and is free now
--   0                it was free
--   error NOTLOCK    the key is a hash, but no such lock; nothing changed
--   error WRONGTYPE  the key is no hash; nothing changed
--
-- Announces ARGV[3] on the channel of the next waiter when the lock becomes free.
--
-- Redisson: forceUnlockAsync of RedissonFairLock.

local owners = redis.pcall('HLEN', lock)
if type(owners) == 'table' then
  return owners -- WRONGTYPE, as it is
end
if owners == 0 then
  return 0
end
local held = redis.call('HGETALL', lock)
if owners > 1 or not string.find(held[1], ':%-?%d+$') or not string.find(held[2], '^[1-9]%d*$') then
  return redis.error_reply('NOTLOCK the hash is not one owner with a count')
end
redis.call('DEL', lock)
local first = head(tonumber(ARGV[1]))
if first then
  announce(ARGV[2] .. ':' .. first, ARGV[3])
end
return 1
