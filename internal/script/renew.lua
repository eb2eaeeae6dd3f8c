-- renew: extend the leases of many locks, each only for its owner.
--
-- KEYS     for each lock in turn: the lock, a hash, and then the timeout keys of the
--          owner's holds, which only the read side of a read-write lock has
-- ARGV     for each lock in turn, three: the field that must be there; the lease in
--          milliseconds; the number of timeout keys
--
-- Reply: an array with one entry for each lock, in order
--   1   the owner holds it; its holds now have the full lease
--   0   it does not: the hold is gone; nothing changed
--
-- A key of another type answers 0 and does not stop the rest of the batch. A reader
-- raises the TTL of the lock and never lowers it, for there are other readers; a read
-- hold all of whose timeout keys have expired is gone.
--
-- Redisson: renewal/LockTask and renewal/ReadLockTask, of which the latter sets the
-- lock's TTL also where it lowers it.

local kept, key = {}, 1
for i = 1, #ARGV / 3 do
  local lock, holds = KEYS[key], tonumber(ARGV[3 * i])
  local field, lease = ARGV[3 * i - 2], ARGV[3 * i - 1]
  kept[i] = 0
  if redis.pcall('HEXISTS', lock, field) == 1 then
    if holds == 0 then
      kept[i] = redis.call('PEXPIRE', lock, lease)
    end
    for hold = key + 1, key + holds do
      kept[i] = math.max(kept[i], redis.call('PEXPIRE', KEYS[hold], lease))
    end
    if holds > 0 and kept[i] == 1 and redis.call('PTTL', lock) < tonumber(lease) then
      redis.call('PEXPIRE', lock, lease)
    end
  end
  key = key + 1 + holds
end
return kept
