-- semaphore_acquire: take permits, all or none.
--
-- KEYS[1]  the counter of available permits
-- KEYS[2]  the record of the request
-- ARGV[1]  how many, at least 1
-- ARGV[2]  the number of the request
-- ARGV[3]  how long the record is kept, in milliseconds
--
-- Replies
--   n >= 0           taken; n are left
--   -1               fewer are available; nothing changed
--   -9               a later request of the same slot was carried out; nothing changed
--   error NOTLOCK    the key is no counter; nothing changed
--   error WRONGTYPE  the key is no string; nothing changed
--
-- Redisson: tryAcquireAsync of RedissonSemaphore, which takes once more when it is repeated.

local counter, take = KEYS[1], tonumber(ARGV[1])

local before = answered(KEYS[2], ARGV[2])
if before then
  return before
end
local permits, refused = count(counter)
if refused then
  return refused
end
if (permits or 0) < take then
  return -1
end
write(counter, permits - take, KEYS[2], ARGV[2], permits - take, ARGV[3])
return permits - take
