-- release: give back one hold of a mutex, or the last one.
--
-- KEYS[1]  the lock: a hash with one field, the owner, whose value is the count
-- KEYS[2]  the channel on which waiters listen
-- ARGV[1]  owner, "clientUUID:number"
-- ARGV[2]  the owner's count after this call; 0 frees the lock
-- ARGV[3]  lease in milliseconds, for the holds that remain
-- ARGV[4]  the plan that announces a free lock
--
-- Replies
--   n >= 0           done; n subscribers were told (0 when holds remain)
--   -1               the owner does not hold the lock; nothing changed
--   -2               freed, but the server refused to publish (an ACL without the channel)
--   error WRONGTYPE  the key is no hash; nothing changed
--
-- Announces ARGV[4] on KEYS[2] when the lock becomes free.
--
-- Redisson: unlockInnerAsync of RedissonLock. It keeps a key per unlock to answer
-- a repeated request; here the absolute count makes the repetition harmless, and
-- the caller knows that it repeated.

local lock, channel, owner = KEYS[1], KEYS[2], ARGV[1]

if ARGV[2] ~= '0' then
  local held = redis.pcall('HEXISTS', lock, owner)
  if type(held) == 'table' then
    return held -- WRONGTYPE, as it is
  end
  if held == 0 then
    return -1
  end
  redis.call('HSET', lock, owner, ARGV[2])
  redis.call('PEXPIRE', lock, ARGV[3])
  return 0
end

-- The last field takes the key with it.
local freed = redis.pcall('HDEL', lock, owner)
if type(freed) == 'table' then
  return freed -- WRONGTYPE, as it is
end
if freed == 0 then
  return -1
end
return announce(channel, ARGV[4])
