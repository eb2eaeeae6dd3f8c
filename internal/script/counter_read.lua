-- counter_read: how many permits are available, or the count of a latch. Changes nothing.
--
-- KEYS[1]  the counter
-- KEYS[2]  of leased permits: those in use, a sorted set
--
-- Replies
--   {n}              the counter, and the permits that have expired; less than 0 if more are in use
--                    than there are; 0 if there is no counter
--   error NOTLOCK    the key is no counter
--   error WRONGTYPE  one of the keys is of another type
--
-- Redisson: availablePermitsAsync of RedissonPermitExpirableSemaphore, which puts expired permits
-- back. The other counters are read by GET.

local n, refused = count(KEYS[1])
if refused then
  return refused
end
local absent = n or redis.pcall('DEL', KEYS[1])
if type(absent) == 'table' and string.find(absent.err, 'READONLY', 1, true) then
  return absent -- only a primary may say that a latch is open
end
local expired = KEYS[2] and redis.pcall('ZCOUNT', KEYS[2], 0, ms(server_time())) or 0
if type(expired) == 'table' then
  return expired
end
return {n and n + expired or 0}
