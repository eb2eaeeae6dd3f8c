-- rw_acquire: take one side of a read-write lock, or take it once more.
--
-- KEYS[1]   the lock: a hash with the field "mode" and one field for each owner
-- KEYS[2+]  the timeout keys of the owner's read holds after this call, then the counter of
--           fencing tokens when a token is asked for
-- ARGV[1]   owner, "clientUUID:number", which is the field of its read side
-- ARGV[2]   the field of its write side
-- ARGV[3]   its count of write holds after this call
-- ARGV[4]   its count of read holds after this call
-- ARGV[5]   lease in milliseconds
-- ARGV[6]   what the timeout keys of all readers begin with
-- ARGV[7]   the rule by which the token counts, when one is asked for
-- ARGV[8]   how many tokens are issued at once
--
-- Replies
--   1                acquired; the counts are as asked for; the lock and the timeout keys
--                    live for at least the lease
--   {token}          the same, with a token: the last one of a block
--   0                the counts asked for build on a hold that is gone; nothing changed
--   {ttl, holder}    another holds it; milliseconds until it may end unless it is renewed
--                    (-1: never; 0 to ask again at once, because many dead readers were
--                    removed and there may be more); behind them its note, if it has one
--   error NOTLOCK    the key is a hash, but no read-write lock, or one that a reader would
--                    have to join and cannot, because it has no expiry or too many readers,
--                    or the counter of tokens cannot count; nothing changed, but dead
--                    readers may be removed
--   error WRONGTYPE  the key is no hash; nothing changed
--   error UNDECLARED the server refuses keys that are not among KEYS; nothing changed
--
-- A writer may also read. A reader may not write. A writer removes dead readers: a reader whose
-- process died blocks others for no longer than its lease, even while other readers renew.
--
-- Redisson: tryLockInnerAsync of RedissonReadLock and RedissonWriteLock. The latter adds the
-- lease of a re-entry to the TTL, and leaves dead readers to the next reader's release.

local many = 100 -- dead readers that are worth another call at once

local owner, writer, lease, prefix = ARGV[1], ARGV[2], ARGV[5], ARGV[6]
local writes, reads = tonumber(ARGV[3]), tonumber(ARGV[4])

if not mode then -- at the first use, rather than when a writer first meets a reader
  local refused = redis.pcall('EXISTS', prefix .. ':' .. writer .. ':rwlock_timeout:1')
  if type(refused) == 'table' then
    local known = string.find(refused.err, 'NOPERM') or string.find(refused.err, 'non local key')
    return known and refused or redis.error_reply('UNDECLARED ' .. refused.err)
  end
end

-- A reader without a write hold does not get one, even if the field of an earlier one is left.
local upgrade = mode == 'read' and writes > 0
if not mode or upgrade or redis.call('HEXISTS', lock, mode == 'write' and writer or owner) == 0 then
  if writes + reads > 1 then
    return gone(lock, '') or 0
  end
  if mode == 'write' then
    local holder = ''
    for i = 1, #words, 2 do
      holder = string.match(words[i], '^(.*):write$') or holder
    end
    return {lock_ttl(), holder, note_of(lock, holder)}
  end
  if mode and not upgrade and lock_ttl() == -1 then
    return notlock('the key has no expiry, so it may be no lock')
  end
  if mode and not upgrade and redis.call('HLEN', lock) == max_fields then
    return notlock('it has as many readers as a lock can have')
  end
  if upgrade then
    local left, holder, dead = find_living(prefix)
    if holder then
      return {budget < 0 and dead >= many and 0 or left, holder, note_of(lock, holder)}
    end
    redis.call('UNLINK', lock)
  end
end

local granted, refused = issue(KEYS[reads + 2], ARGV[7], ARGV[8])
if refused then
  return refused
end
for hold = 2, reads + 1 do -- without that key a reader counts as dead
  refused = keep_hold(KEYS[hold], lease)
  if refused then
    return refused
  end
end
local before = redis.call('PTTL', lock) -- first: a lock that this is refused for would never end
if writes > 0 then
  redis.call('HSET', lock, 'mode', 'write', writer, writes)
end
if reads > 0 then
  redis.call('HSET', lock, 'mode', writes > 0 and 'write' or 'read', owner, reads)
end
if writes == 0 and reads > 1 then
  redis.call('HDEL', lock, writer) -- if its release was lost
end
if before == -2 then
  begin(lock, lease)
else
  raise(lock, lease)
end
if mode == 'write' and writes == 0 then
  lease = ms(redis.call('PTTL', lock)) -- what was confirmed to the writer
  for hold = 2, reads + 1 do
    keep_hold(KEYS[hold], lease)
  end
end
return granted
