-- write_release: give back one hold of the write side, or the last one.
--
-- KEYS[1]  the lock: a hash with the field "mode" and one field for each owner
-- KEYS[2]  the channel on which waiters listen
-- ARGV[1]  the writer's field, "clientUUID:number:write"
-- ARGV[2]  the writer's count after this call
-- ARGV[3]  lease in milliseconds, for the holds that remain
-- ARGV[4]  what the timeout keys of all readers begin with
-- ARGV[5]  the plan that announces the end of the write hold
--
-- Replies
--   n >= 0           done; n subscribers were told (0 when write holds remain)
--   -1               the writer does not hold the lock; nothing changed
--   -2               done, but the server refused to publish
--   error WRONGTYPE  the key is no hash; nothing changed
--
-- If the owner reads inside its write hold, the lock becomes a read lock that lives as
-- long as that read hold, and readers that wait are told; otherwise it is deleted.
-- Announces ARGV[5] on KEYS[2] in both cases.
--
-- Redisson: unlockInnerAsync of RedissonWriteLock, which tells nobody of the first case
-- and leaves the writer's TTL to the readers.

local lock, channel, writer, prefix = KEYS[1], KEYS[2], ARGV[1], ARGV[4]

local held = redis.pcall('HEXISTS', lock, writer)
if type(held) == 'table' then
  return held -- WRONGTYPE, as it is
end
if held == 0 then
  return -1
end

if ARGV[2] ~= '0' then
  redis.call('HSET', lock, writer, ARGV[2])
  if redis.call('PTTL', lock) < tonumber(ARGV[3]) then
    redis.call('PEXPIRE', lock, ARGV[3])
  end
  return 0
end

redis.call('HDEL', lock, writer)
local longest = 0
local fields = redis.call('HGETALL', lock)
for i = 1, #fields, 2 do
  for hold = 1, tonumber(fields[i + 1]) or 0 do
    longest = math.max(longest, redis.call('PTTL', prefix .. ':' .. fields[i] .. ':rwlock_timeout:' .. hold))
  end
end
if longest > 0 then
  redis.call('HSET', lock, 'mode', 'read')
  redis.call('PEXPIRE', lock, longest)
else
  redis.call('DEL', lock)
end
return announce(channel, ARGV[5])
