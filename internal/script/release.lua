-- release: release one hold of a mutex, or the last one.
--
-- KEYS[1]  the lock: a hash with one field, the owner, whose value is the count
-- ARGV[1]  owner, "clientUUID:number"
-- ARGV[2]  the owner's count after this call; 0 frees the lock
-- ARGV[3]  lease in milliseconds, for the holds that remain
-- ARGV[4]  the channel on which waiters listen
-- ARGV[5]  the plan that announces a free lock
--
-- Replies
--   n >= 0           the lock is free; n subscribers were told
--   -1               the owner does not hold the lock; nothing changed
--   -2               freed, but the server refused to publish (an ACL without the channel)
--   -3               holds remain; the TTL is at least ARGV[3]
--   error WRONGTYPE  the key is no hash; nothing changed
--
-- Announces ARGV[5] on ARGV[4] when the lock becomes free.
--
-- Redisson: unlockInnerAsync of RedissonLock. It keeps a key per unlock to answer
-- a repeated request; here the absolute count makes the repetition harmless, and
-- the caller knows that it repeated.

local lock, owner = KEYS[1], ARGV[1]

local last = ARGV[2] == '0'
local verb = last and 'HDEL' or 'HEXISTS' -- the last field takes the key with it
local held = redis.pcall(verb, lock, owner)
if type(held) == 'table' then
  return held -- WRONGTYPE, as it is
end
if held == 0 then
  return gone(lock, owner) or -1
end
if last then
  return announce(ARGV[4], ARGV[5])
end
confirm(lock, ARGV[3])
redis.call('HSET', lock, owner, ARGV[2])
return -3
