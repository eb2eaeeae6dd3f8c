-- recall: ask an owner to give a lock or a permit back.
--
-- KEYS[1]  what it is in: the lock, a hash, or the permits in use, a sorted set
-- KEYS[2]  the owner's note: a hash beside the lock
-- ARGV[1]  the owner, "clientUUID:number", or the id of the permit
-- ARGV[2]  the command that finds it: HEXISTS or ZSCORE
-- ARGV[3]  who asks, and why
-- ARGV[4]  the channel on which waiters listen
-- ARGV[5]  the plan that tells those who listen, "" for none
--
-- Replies
--   1                asked; the owner learns of it by its next renewal
--   0                the owner does not hold it; nothing changed
--   error WRONGTYPE  the key is of another type; nothing changed
--
-- A second run asks once more. The request ends with the TTL of the lock, and after an hour at most,
-- unless a renewal of the owner keeps it. Owners of Redisson do not, and may have a lock for years.
--
-- Redisson has no such thing. Its owners never learn of it.

local key, note, owner, verb = KEYS[1], KEYS[2], ARGV[1], ARGV[2]

local found = redis.pcall(verb, key, owner)
if type(found) == 'table' then
  return found -- WRONGTYPE, as it is
end
local left
if verb == 'ZSCORE' then
  left = found and tonumber(found) - server_time() or 0
else
  local held = owner ~= 'mode' and found == 1 or redis.call('HEXISTS', key, owner .. ':write') == 1
  left = held and redis.call('PTTL', key) or 0
end
if left == 0 or left < -1 then
  return gone(key, '', verb == 'ZSCORE' and 'ZREM' or 'HDEL') or 0
end
redis.call('HSET', note, 'recall', ARGV[3])
redis.call('HDEL', note, 'told')
raise(note, ms(math.min(math.max(left, 1000), 3600000)))
announce(ARGV[4], ARGV[5])
return 1
