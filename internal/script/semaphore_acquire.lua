-- semaphore_acquire: take permits for several waiters, in their order, each all or none.
--
-- KEYS[1]  the counter of available permits
-- KEYS[2]  the record of the request
-- ARGV[1]  the number of the request
-- ARGV[2]  how long the record is kept, in milliseconds
-- ARGV[3+] how many each waiter wants, at least 1
--
-- Replies
--   n > 0            taken for the first waiters together; the next one wants more than are left
--   0                fewer are available than the first one wants; nothing changed
--   -9               a later request of the same slot was carried out; nothing changed
--   error NOTLOCK    the key is no counter; nothing changed
--   error WRONGTYPE  the key is no string; nothing changed
--
-- Redisson: tryAcquireAsync of RedissonSemaphore, for one waiter, which takes once more when it is
-- repeated.

local take = 0
for i = 3, #ARGV do
  if take + ARGV[i] > (found or 0) then
    break
  end
  take = take + ARGV[i]
end
if take > 0 then
  write(found - take, take)
end
return take
