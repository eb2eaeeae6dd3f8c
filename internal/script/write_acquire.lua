-- write_acquire: take the write side of a read-write lock, or take it once more.
--
-- KEYS[1]  the lock: a hash with the field "mode" and one field for each owner
-- KEYS[2]  the counter of fencing tokens, when a token is asked for
-- ARGV[1]  the writer's field, "clientUUID:number:write"
-- ARGV[2]  lease in milliseconds
-- ARGV[3]  the writer's count after this call: 1, or one more than it holds
-- ARGV[4]  what the timeout keys of all readers begin with
-- ARGV[5]  the rule by which the token counts, when one is asked for
--
-- Replies
--   1                acquired; the count is ARGV[3]; the lock lives for at least the lease
--   {token}          the same, with a token
--   0                the count asked for builds on a hold that is gone; nothing changed
--   {ttl, holder}    another holds it; milliseconds until it ends unless it is renewed
--                    (-1: never)
--   error NOTLOCK    the key is a hash, but no read-write lock; nothing changed
--   error WRONGTYPE  the key is no hash; nothing changed
--
-- A read hold whose timeout key is gone is dead, and is removed: a reader whose process
-- died holds nobody off for longer than its lease, even while others live and renew.
--
-- Redisson: tryLockInnerAsync of RedissonWriteLock, which adds the lease of a re-entry
-- to what is left, and leaves dead readers to the next reader's release.

local lock, writer, lease, count, prefix = KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[4]

local fields = redis.pcall('HLEN', lock)
if type(fields) == 'table' then
  return fields -- WRONGTYPE, as it is
end
local mode = redis.call('HGET', lock, 'mode')
if not mode and fields > 0 then
  return redis.error_reply('NOTLOCK the hash has no mode')
end

if count ~= '1' and redis.call('HEXISTS', lock, writer) == 0 then
  return 0
end

if mode == 'write' and redis.call('HEXISTS', lock, writer) == 0 then
  local holder = ''
  for _, field in ipairs(redis.call('HKEYS', lock)) do
    holder = string.match(field, '^(.*):write$') or holder
  end
  return {redis.call('PTTL', lock), holder}
end

if mode == 'read' then
  local longest, holder = 0, nil
  local all = redis.call('HGETALL', lock)
  for i = 1, #all, 2 do
    local reader, alive = all[i], false
    for hold = 1, tonumber(all[i + 1]) or 0 do
      local left = redis.call('PTTL', prefix .. ':' .. reader .. ':rwlock_timeout:' .. hold)
      if left == -1 then
        left = redis.call('PTTL', lock)
      end
      if left > 0 then
        alive = true
        longest = math.max(longest, left)
      end
    end
    if alive then
      holder = holder or reader
    elseif reader ~= 'mode' then
      redis.call('HDEL', lock, reader)
    end
  end
  if holder then
    return {longest, holder}
  end
  redis.call('DEL', lock)
end

local granted = 1
if ARGV[5] then
  granted = issue(KEYS[2], ARGV[5])
  if granted.err then
    return granted
  end
end
redis.call('HSET', lock, 'mode', 'write', writer, count)
if redis.call('PTTL', lock) < tonumber(lease) then
  redis.call('PEXPIRE', lock, lease)
end
return granted
