-- leave: end the last hold of a mutex, and keep the lock for the rest of its MinHold.
--
-- KEYS[1]  the lock: a hash with one field, the owner, whose value is the count
-- ARGV[1]  owner, "clientUUID:number"
-- ARGV[2]  the rest, in milliseconds
-- ARGV[3]  the channel on which waiters listen, "" if they are not to be told
-- ARGV[4]  the plan that announces a free lock
--
-- Replies
--   -1               the owner does not hold the lock; nothing changed
--   -3               the lock stays for ARGV[2]; nobody renews it
--   error WRONGTYPE  the key is no hash; nothing changed
--
-- This is the only script that lowers a TTL: the owner has no hold any more, and its name is never
-- used again. It announces ARGV[4] on ARGV[3] when it lowers the TTL. A second run sets the
-- same rest again, so the lock may stay a little longer, and never shorter.
--
-- Redisson has no such thing.

local held = redis.pcall('HEXISTS', KEYS[1], ARGV[1])
if type(held) == 'table' then
  return held -- WRONGTYPE, as it is
end
if held == 0 then
  return -1
end
local left = redis.call('PTTL', KEYS[1])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
if ARGV[3] ~= '' and (left < 0 or left > tonumber(ARGV[2])) then
  announce(ARGV[3], ARGV[4])
end
return -3
