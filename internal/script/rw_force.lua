-- rw_force: free a read-write lock, whichever side holds it.
--
-- KEYS[1]  the lock: a hash with the field "mode" and one field for each owner
-- KEYS[2]  the channel on which waiters listen
-- ARGV[1]  what the timeout keys of all readers begin with
-- ARGV[2]  the plan when readers held it
-- ARGV[3]  the plan when a writer held it
--
-- Replies
--   1                the lock was held and is free now
--   0                it was free
--   error NOTLOCK    the key is a hash, but no read-write lock; nothing changed
--   error WRONGTYPE  the key is no hash; nothing changed
--
-- Announces ARGV[2] or ARGV[3] on KEYS[2] when the lock becomes free.
--
-- Redisson: forceUnlockAsync of RedissonReadLock and RedissonWriteLock, which leave the
-- timeout keys of the readers behind.

local lock, channel, prefix = KEYS[1], KEYS[2], ARGV[1]

local fields = redis.pcall('HGETALL', lock)
if fields.err then
  return fields -- WRONGTYPE, as it is
end
if #fields == 0 then
  return 0
end
local mode = redis.call('HGET', lock, 'mode')
if mode ~= 'read' and mode ~= 'write' then
  return redis.error_reply('NOTLOCK the hash has no mode')
end

for i = 1, #fields, 2 do
  for hold = 1, tonumber(fields[i + 1]) or 0 do
    redis.call('DEL', prefix .. ':' .. fields[i] .. ':rwlock_timeout:' .. hold)
  end
end
redis.call('DEL', lock)
announce(channel, mode == 'read' and ARGV[2] or ARGV[3])
return 1
