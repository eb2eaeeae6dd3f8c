-- semaphore_add: put permits back, or change how many there are.
--
-- KEYS[1]  the counter of available permits
-- KEYS[2]  the record of the request
-- KEYS[3]  of leased permits: those in use
-- ARGV[1]  the number of the request
-- ARGV[2]  how long the record is kept, in milliseconds
-- ARGV[3]  how many are added; a negative number takes permits away, also those that are in use
-- ARGV[4]  the channel on which waiters listen
-- ARGV[5]  the plan that announces permits
--
-- Replies
--   n >= 0           done; n subscribers were told
--   -2               done, but the server refused to publish (an ACL without the channel)
--   -4               there would be more than 2^31 - 1, or fewer than -2^31; this request changes nothing
--                    any more
--   -9               a later request of the same slot was carried out; nothing changed
--   error NOTLOCK    the key is no counter; nothing changed
--   error WRONGTYPE  the key is no string; nothing changed
--
-- If it makes the counter, permits of a former one are not in use any more. A repeated request is
-- answered with 0, or with -4 again. Announces by ARGV[5] on ARGV[4] how many are available.
--
-- Redisson: releaseAsync and addPermitsAsync of RedissonSemaphore. They add once more when they are
-- repeated, and addPermitsAsync drops a TTL.

local left = (found or 0) + ARGV[3]
if left > 2147483647 or left < -2147483648 then
  return remember(-4)
end
forget(found)
write(left, 0)
return announce_count(ARGV[4], ARGV[5], left)
