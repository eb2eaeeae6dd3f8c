-- session_renew: a watchdog extends the lease of one lock for its owner.
--
-- KEYS[1]  the lock, a hash
-- KEYS[2+] the timeout keys of the owner's holds, which only the read side of a
--          read-write lock has
-- ARGV[1]  the field that must be there
-- ARGV[2]  the lease in milliseconds
--
-- Reply: 1  the owner holds it; every key of it now lives for the lease, at least
--        0  it does not, or the key is no lock with a lease; nothing changed
--
-- No TTL is ever lowered, and a key without a TTL gets none. A reader whose timeout keys have
-- all expired holds nothing.
--
-- Redisson: renewal/LockTask and renewal/ReadLockTask, which set the TTL even if that
-- lowers it.

local lease = tonumber(ARGV[2])
local count = redis.pcall('HGET', KEYS[1], ARGV[1])
if type(count) ~= 'string' or not tonumber(count) then
  return not count and gone(KEYS[1], ARGV[1]) or 0
end
local left, held = redis.call('PTTL', KEYS[1]), #KEYS == 1
if left < 0 then
  return 0
end
for i = 2, #KEYS do
  local ttl = redis.call('PTTL', KEYS[i])
  held = held or ttl >= 0
  if ttl >= 0 and ttl < lease then
    redis.call('PEXPIRE', KEYS[i], ARGV[2])
  end
end
if held and left < lease then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  redis.pcall('PEXPIRE', note_key(KEYS[1], ARGV[1]), ARGV[2])
end
return held and 1 or 0
