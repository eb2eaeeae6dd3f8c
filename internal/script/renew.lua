-- renew: extend the leases of many locks, each only for its owner.
--
-- KEYS     for each lock in turn: the lock, a hash, and then the timeout keys of the
--          owner's read holds, which only a read-write lock has
-- ARGV     for each lock in turn, seven: the owner's field; the field of its write side, or "";
--          "1" if it must not have that any more; the lease in milliseconds; the number of
--          timeout keys; the owner's note, or ""; "1" if it knows that others ask
--
-- Reply: an array with one entry for each lock, in order
--   1   the owner holds it; its holds have at least the full lease
--   ""  the same, and this text is what others ask of the owner (recall)
--   0   it does not: the hold is gone; nothing changed
--   -1  unknown: the server refused to read it; or the owner holds it, but a timeout key is missing
--       that the server refused to make or the call does not name
--
-- A key of another type answers 0 and does not stop the rest of the batch. A timeout key
-- that is missing is made again: the reader holds the lock as long as its field is there.
-- A write hold whose release was lost is ended here.
--
-- Redisson: renewal/LockTask and renewal/ReadLockTask, which set the TTL even if that
-- lowers it.

local kept, key = {}, 1
for i = 1, #ARGV / 7 do
  local lock, holds = KEYS[key], tonumber(ARGV[7 * i - 2])
  local field, writer, over, lease = ARGV[7 * i - 6], ARGV[7 * i - 5], ARGV[7 * i - 4], ARGV[7 * i - 3]
  local refused, here = false, redis.pcall('HEXISTS', lock, field)
  if here == 1 or here == 0 and writer ~= '' and redis.call('HEXISTS', lock, writer) == 1 then
    confirm(lock, lease)
    if here == 1 and over == '1' and redis.call('HEXISTS', lock, writer) == 1 then
      redis.call('HSET', lock, 'mode', 'read')
      redis.call('HDEL', lock, writer)
      lease = ms(redis.call('PTTL', lock)) -- what was confirmed to the writer
    end
    local reads = holds > 0 and redis.call('HGET', lock, field) or 0
    for hold = key + 1, key + math.min(holds, tonumber(reads) or 0) do
      refused = refused or keep_hold(KEYS[hold], lease)
    end
    -- A renewal from before a re-entry to read names no timeout key. It may be late or
    -- repeated. By now the reader lives by those keys alone.
    if here == 1 and writer ~= '' and holds == 0 and redis.call('HGET', lock, 'mode') == 'read' then
      refused = true
    end
    kept[i] = refused and -1 or exchange(lock, field, ARGV[7 * i - 1], ARGV[7 * i]) or 1
  else
    kept[i] = lost(gone(lock, field))
  end
  key = key + 1 + holds
end
return kept
