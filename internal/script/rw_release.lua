-- rw_release: release holds of a read-write lock.
--
-- KEYS[1]   the lock: a hash with the field "mode" and one field for each owner
-- KEYS[2+]  the timeout keys of the owner's read holds that remain, then of those that end
-- ARGV[1]   owner, "clientUUID:number", which is the field of its read side
-- ARGV[2]   the field of its write side
-- ARGV[3]   its count of write holds after this call
-- ARGV[4]   its count of read holds after this call
-- ARGV[5]   lease in milliseconds, for the holds that remain
-- ARGV[6]   what the timeout keys of all readers begin with
-- ARGV[7]   the channel on which waiters listen
-- ARGV[8]   the plan that announces the end of reading
-- ARGV[9]   the plan that announces the end of writing
--
-- Replies
--   n >= 0           others may enter: the lock is free, or a writer has become a reader;
--                    n subscribers were told
--   -1               the owner does not hold the lock, or the counts build on a write hold
--                    that is gone; nothing changed
--   -2               others may enter, but the server refused to publish
--   -3               the owner or other readers still hold the lock
--   error NOTLOCK    the key is a hash, but no read-write lock; nothing changed
--   error WRONGTYPE  the key is no hash; nothing changed
--
-- An owner that reads inside its write hold and releases the write hold becomes a reader, which
-- lives for as long as the writer would have. The lock's TTL is never lowered: waiters are told
-- when the lock becomes free. Everything that may fail is done before the first write.
--
-- Redisson: unlockInnerAsync of RedissonReadLock and RedissonWriteLock. The former lowers the
-- TTL to what the other readers need, also a writer's; the latter announces nothing when a writer
-- becomes a reader.

local owner, writer, lease, prefix = ARGV[1], ARGV[2], ARGV[5], ARGV[6]
local writes, reads = tonumber(ARGV[3]), tonumber(ARGV[4])

local writing = redis.call('HEXISTS', lock, writer) == 1
if not writing and redis.call('HEXISTS', lock, owner) == 0 or writes > 0 and not (writing and mode == 'write') then
  return gone(lock, '') or -1
end
local remain = writes + reads > 0 or find_living(prefix, owner, writer)

for hold = reads + 2, #KEYS do
  redis.call('DEL', KEYS[hold])
end
if not remain then
  redis.call('UNLINK', lock)
  return announce(ARGV[7], mode == 'read' and ARGV[8] or ARGV[9])
end

if writes + reads > 0 then
  confirm(lock, lease)
end
if writes > 0 then
  redis.call('HSET', lock, writer, writes)
end
if reads > 0 then
  redis.call('HSET', lock, owner, reads)
else
  redis.call('HDEL', lock, owner)
end
if writing and writes == 0 then
  lease = ms(math.max(redis.call('PTTL', lock), tonumber(lease))) -- what was confirmed to the writer
end
for hold = 2, reads + 1 do
  keep_hold(KEYS[hold], lease)
end
if writing and writes == 0 then
  redis.call('HSET', lock, 'mode', 'read')
  redis.call('HDEL', lock, writer)
  return announce(ARGV[7], ARGV[9])
end
return -3
