-- read_acquire: take the read side of a read-write lock, or take it once more.
--
-- KEYS[1]  the lock: a hash with the field "mode" and one field for each owner
-- KEYS[2]  the timeout key of this hold
-- KEYS[3]  the counter of fencing tokens, when a token is asked for
-- ARGV[1]  the reader's field, "clientUUID:number"
-- ARGV[2]  the field that the same owner has as a writer
-- ARGV[3]  lease in milliseconds
-- ARGV[4]  the reader's count after this call: 1, or one more than it holds
-- ARGV[5]  the rule by which the token counts, when one is asked for
--
-- Replies
--   1                acquired; the count is ARGV[4]; KEYS[2] lives for the lease and the
--                    lock for at least as long
--   {token}          the same, with a token
--   0                the count asked for builds on a hold that is gone; nothing changed
--   {ttl, holder}    a writer holds it; the lock's TTL in milliseconds (-1: none)
--   error NOTLOCK    the key is a hash, but no read-write lock; nothing changed
--   error WRONGTYPE  the key is no hash; nothing changed
--
-- Redisson: tryLockInnerAsync of RedissonReadLock. Each read hold must have its timeout
-- key, or the next Java reader that leaves takes it for dead and deletes the lock.

local lock, timeout = KEYS[1], KEYS[2]
local reader, writer, lease, count = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

local fields = redis.pcall('HLEN', lock)
if type(fields) == 'table' then
  return fields -- WRONGTYPE, as it is
end
local mode = redis.call('HGET', lock, 'mode')
if not mode and fields > 0 then
  return redis.error_reply('NOTLOCK the hash has no mode')
end

if count ~= '1' and redis.call('HEXISTS', lock, reader) == 0 then
  return 0
end
if mode == 'write' and redis.call('HEXISTS', lock, writer) == 0 then
  local holder = ''
  for _, field in ipairs(redis.call('HKEYS', lock)) do
    holder = string.match(field, '^(.*):write$') or holder
  end
  return {redis.call('PTTL', lock), holder}
end

local granted = 1
if ARGV[5] then
  granted = issue(KEYS[3], ARGV[5])
  if granted.err then
    return granted
  end
end

if not mode then
  redis.call('HSET', lock, 'mode', 'read')
end
redis.call('HSET', lock, reader, count)
redis.call('SET', timeout, '1', 'PX', lease)
if redis.call('PTTL', lock) < tonumber(lease) then
  redis.call('PEXPIRE', lock, lease)
end
return granted
