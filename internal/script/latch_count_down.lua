-- latch_count_down: count a latch down by one, and open it at zero.
--
-- KEYS[1]  the count of the latch; an open latch has no key
-- KEYS[2]  the record of the request
-- ARGV[1]  the number of the request
-- ARGV[2]  how long the record is kept, in milliseconds
-- ARGV[3]  the channel on which waiters listen
-- ARGV[4]  the plan that announces an open latch
--
-- Replies
--   n >= 0           n are left
--   -9               a later request of the same slot was carried out; nothing changed
--   error NOTLOCK    the key is no counter; nothing changed
--   error WRONGTYPE  the key is no string; nothing changed
--
-- Announces ARGV[4] on ARGV[3] when the latch opens. A script that was interrupted right after it had
-- opened the latch finds it open.
--
-- Redisson: countDownAsync of RedissonCountDownLatch, which counts once more when it is repeated.

if not found then
  return remember(0)
end
if found > 1 then
  write(found - 1, found - 1)
  return found - 1
end
redis.call('DEL', counter)
announce(ARGV[3], ARGV[4])
return remember(0)
