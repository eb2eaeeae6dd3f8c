-- minhold: end the last hold of a mutex, and keep the lock for the rest of its MinHold.
--
-- KEYS[1]  the lock: a hash with one field, the owner, whose value is the count
-- ARGV[1]  owner, "clientUUID:number"
-- ARGV[2]  the owner for the rest, "clientUUID:-number"
-- ARGV[3]  the rest, in milliseconds
-- ARGV[4]  the channel on which waiters listen, "" if they are not to be told
-- ARGV[5]  the plan that announces a free lock
--
-- Replies
--   -1               the owner does not hold the lock; nothing changed
--   -3               the lock stays for ARGV[3] under the name ARGV[2]; nobody renews it
--   error WRONGTYPE  the key is no hash; nothing changed
--
-- This is the only script that lowers a TTL: the owner has no hold any more, and no request knows the
-- new name. So a late request of the owner, such as a renewal, finds nothing and changes nothing. The
-- script announces ARGV[5] on ARGV[4] when it lowers the TTL. A second run changes nothing.
--
-- Redisson has no such thing.

local lock, owner, rest = KEYS[1], ARGV[1], ARGV[2]

local held = redis.pcall('HEXISTS', lock, owner)
if type(held) == 'table' then
  return held -- WRONGTYPE, as it is
end
if held == 0 then
  return gone(lock, owner) or redis.call('HEXISTS', lock, rest) == 1 and -3 or -1
end
local left = redis.call('PTTL', lock)
redis.call('PEXPIRE', lock, ARGV[3]) -- the first write is one that a full server does not refuse
redis.call('HSET', lock, rest, '1')
redis.call('HDEL', lock, owner)
if ARGV[4] ~= '' and (left < 0 or left > tonumber(ARGV[3])) then
  announce(ARGV[4], ARGV[5])
end
return -3
