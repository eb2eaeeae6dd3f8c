-- read_release: give back one hold of the read side, or the last one.
--
-- KEYS[1]   the lock: a hash with the field "mode" and one field for each owner
-- KEYS[2]   the channel on which waiters listen
-- KEYS[3+]  the timeout keys of the holds that end, then of those that remain
-- ARGV[1]   the reader's field, "clientUUID:number"
-- ARGV[2]   the reader's count after this call; also how many KEYS at the end remain
-- ARGV[3]   lease in milliseconds, for the holds that remain
-- ARGV[4]   what the timeout keys of all readers begin with
-- ARGV[5]   the plan that announces a free lock
--
-- Replies
--   n >= 0           done; n subscribers were told (0 when anybody still holds the lock)
--   -1               the reader does not hold the lock; nothing changed
--   -2               freed, but the server refused to publish
--   error WRONGTYPE  the key is no hash; nothing changed
--
-- The lock lives as long as the longest read hold that remains. Inside a write hold
-- it is the writer's and is left alone. Announces ARGV[5] on KEYS[2] when the lock
-- becomes free, or will be free sooner than waiters were told.
--
-- Redisson: unlockInnerAsync of RedissonReadLock, which also sets the lock's TTL
-- inside a write hold and so shortens the writer's lease.

local lock, channel, reader, remaining = KEYS[1], KEYS[2], ARGV[1], tonumber(ARGV[2])
local lease, prefix = tonumber(ARGV[3]), ARGV[4]

local held = redis.pcall('HEXISTS', lock, reader)
if type(held) == 'table' then
  return held -- WRONGTYPE, as it is
end
if held == 0 then
  return -1
end

for i = 3, #KEYS - remaining do
  redis.call('DEL', KEYS[i])
end
if remaining > 0 then
  redis.call('HSET', lock, reader, remaining)
  for i = #KEYS - remaining + 1, #KEYS do
    redis.call('SET', KEYS[i], '1', 'PX', lease)
  end
  if redis.call('PTTL', lock) < lease then
    redis.call('PEXPIRE', lock, lease)
  end
  return 0
end
redis.call('HDEL', lock, reader)
if redis.call('HGET', lock, 'mode') == 'write' then
  return 0
end

-- How long the longest of the others lives. None can outlive the lock, so the
-- search ends with the first that lives as long.
local ttl, longest = redis.call('PTTL', lock), 0
local fields = redis.call('HGETALL', lock)
for i = 1, #fields, 2 do
  for hold = 1, tonumber(fields[i + 1]) or 0 do
    local left = redis.call('PTTL', prefix .. ':' .. fields[i] .. ':rwlock_timeout:' .. hold)
    longest = math.max(longest, left == -1 and ttl or left)
    if longest >= ttl and longest > 0 then
      return 0
    end
  end
end
if longest > 0 then
  redis.call('PEXPIRE', lock, longest)
  -- Readers that are renewed side by side end at about the same time: that is no news.
  if ttl < 0 or ttl - longest > 100 then
    announce(channel, ARGV[5])
  end
  return 0
end
redis.call('DEL', lock)
return announce(channel, ARGV[5])
