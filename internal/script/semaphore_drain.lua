-- semaphore_drain: take all permits that are available.
--
-- KEYS[1]  the counter of available permits
-- KEYS[2]  the record of the request
-- ARGV[1]  the number of the request
-- ARGV[2]  how long the record is kept, in milliseconds
--
-- Replies
--   n > 0            taken; none is left
--   0                none was available; this request takes nothing any more
--   -9               a later request of the same slot was carried out; nothing changed
--   error NOTLOCK    the key is no counter; nothing changed
--   error WRONGTYPE  the key is no string; nothing changed
--
-- Redisson: drainPermitsAsync of RedissonSemaphore, which also sets a negative counter to 0 and
-- drops a TTL. A counter is negative while more permits are in use than there are.

if (found or 0) < 1 then
  return remember(0)
end
write(0, found)
return found
