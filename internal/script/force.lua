-- force: free a mutex, whoever holds it, or only if one owner does.
--
-- KEYS[1]  the lock, a hash
-- ARGV[1]  the channel on which waiters listen
-- ARGV[2]  the plan that announces a free lock
-- ARGV[3]  the only owner from whom to take it; absent: whoever holds it
--
-- Replies
--   1                the lock was held and is free now
--   0                it was free, or the owner of ARGV[3] does not hold it; nothing changed
--   error NOTLOCK    the key is a hash, but no mutex, or nobody can tell without an owner's
--                    name that it is one; nothing changed
--   error WRONGTYPE  the key is no hash; nothing changed
--
-- Announces ARGV[2] on ARGV[1] when the lock becomes free.
--
-- Redisson: forceUnlockAsync of RedissonLock, which deletes a key of any type.

local lock, only = KEYS[1], ARGV[3]

local found = held(lock, only)
if type(found) == 'table' and found.err then
  return found
end
if not found or only and found ~= true then
  return 0
end
local refusal = not only and maybe_data(found[1], found[2])
if refusal then
  return refusal
end
redis.call('DEL', lock)
announce(ARGV[1], ARGV[2])
return 1
