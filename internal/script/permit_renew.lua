-- permit_renew: extend the leases of permits, also of several semaphores.
--
-- KEYS     for each permit two: the counter of available permits, and the permits in use
-- ARGV     for each permit four: its id, the lease in milliseconds, the owner's note, or "", and "1" if
--          the owner knows that others ask
--
-- Reply: an array with one entry for each permit, in order
--   1   the id has it, for at least the full lease
--   ""  the same, and this text is what others ask of the owner (recall)
--   0   it does not, or its lease was over, or the counter is gone; nothing changed
--   -1  unknown: the server refused to read it or to extend it
--
-- A key of another type answers 0. A lease that is over stays over: others may count on the permit.
--
-- Redisson: updateLeaseTimeAsync of RedissonPermitExpirableSemaphore, which may shorten a lease.

local function extend(counter, set, id, lease, note, knows)
  local score = redis.pcall('ZSCORE', set, id)
  if type(score) == 'table' then
    return string.find(score.err, 'WRONGTYPE', 1, true) and 0 or -1
  end
  local time = server_time()
  if not score or tonumber(score) <= time or redis.call('EXISTS', counter) == 0 then
    return lost(gone(set, '', 'ZREM'))
  end
  -- This removes nothing. After a write that needs no memory, a full server refuses no other.
  redis.call('ZREMRANGEBYSCORE', set, 1, 0)
  local raised = redis.pcall('ZADD', set, ms(math.max(time + lease, tonumber(score))), id)
  if type(raised) == 'table' then
    return -1
  end
  keep(counter, set, lease)
  return exchange(counter, id, note, knows, math.max(lease, tonumber(score) - time)) or 1
end

local kept = {}
for i = 1, #ARGV / 4 do
  kept[i] = extend(KEYS[2 * i - 1], KEYS[2 * i], unpack(ARGV, 4 * i - 3, 4 * i))
end
return kept
