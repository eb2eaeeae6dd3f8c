-- counter_set: give a semaphore its first permits, or a latch its count.
--
-- KEYS[1]  the counter
-- KEYS[2]  the record of the request
-- KEYS[3]  of leased permits: those in use
-- ARGV[1]  the number of the request
-- ARGV[2]  how long the record is kept, in milliseconds
-- ARGV[3]  the count, at least 0
-- ARGV[4]  the channel on which waiters listen
-- ARGV[5]  the plan that announces a count
-- ARGV[6]  what is announced
--
-- Replies
--   1                the counter is set
--   0                there is one already; this request sets nothing any more
--   -9               a later request of the same slot was carried out; nothing changed
--   error NOTLOCK    the key is no counter; nothing changed
--   error WRONGTYPE  the key is no string; nothing changed
--
-- Permits of a former counter are not in use any more. Announces ARGV[6] by ARGV[5] on ARGV[4] when it sets the counter.
--
-- Redisson: trySetPermitsAsync of RedissonSemaphore, trySetCountAsync of RedissonCountDownLatch.

if found then
  return remember(0)
end
forget(nil)
write(tonumber(ARGV[3]), 1)
announce_count(ARGV[4], ARGV[5], tonumber(ARGV[6]))
return 1
