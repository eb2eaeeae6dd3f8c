-- renew: extend the leases of many locks, each only for its owner.
--
-- KEYS[i]      the i-th lock, a hash
-- ARGV[2i-1]   the field that must be there: the owner
-- ARGV[2i]     lease in milliseconds
--
-- Reply: an array with one entry for each key, in order
--   1   the field is there; the TTL is now the lease
--   0   it is not: the hold is gone; nothing changed
--
-- A key of another type answers 0 and does not stop the rest of the batch.
--
-- Redisson: renewal/LockTask, which extends every lock of a batch by one lease.

local kept = {}
for i, lock in ipairs(KEYS) do
  if redis.pcall('HEXISTS', lock, ARGV[2 * i - 1]) == 1 then
    kept[i] = redis.call('PEXPIRE', lock, ARGV[2 * i])
  else
    kept[i] = 0
  end
end
return kept
