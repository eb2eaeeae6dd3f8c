-- force: free a mutex, whoever holds it, or only if one owner does.
--
-- KEYS[1]  the lock, a hash
-- KEYS[2]  the channel on which waiters listen
-- ARGV[1]  the plan that announces a free lock
-- ARGV[2]  the only owner from whom to take it; absent: whoever holds it
--
-- Replies
--   1                the lock was held and is free now
--   0                it was free, or the owner of ARGV[2] does not hold it; nothing changed
--   error NOTLOCK    the key is a hash, but no mutex; nothing changed
--   error WRONGTYPE  the key is no hash; nothing changed
--
-- Announces ARGV[1] on KEYS[2] when the lock becomes free.
--
-- Redisson: forceUnlockAsync of RedissonLock, which deletes a key of any type.

local lock, channel, only = KEYS[1], KEYS[2], ARGV[2]

local owners = redis.pcall('HLEN', lock)
if type(owners) == 'table' then
  return owners -- WRONGTYPE, as it is
end
if owners == 0 then
  return 0
end
-- A mistyped name must not delete somebody's data: only what looks like an owner
-- is ever removed by force.
local held = redis.call('HGETALL', lock)
if owners > 1 or not string.find(held[1], ':%-?%d+$') or not string.find(held[2], '^[1-9]%d*$') then
  return redis.error_reply('NOTLOCK the hash is not one owner with a count')
end
if only and redis.call('HEXISTS', lock, only) == 0 then
  return 0
end
redis.call('DEL', lock)
announce(channel, ARGV[1])
return 1
