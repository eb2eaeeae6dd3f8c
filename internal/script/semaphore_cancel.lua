-- semaphore_cancel: undo a request for permits that was not answered, or keep it from being carried
-- out later. Or put back what another request took, if the counter is still there.
--
-- KEYS[1]  the counter of available permits
-- KEYS[2]  the record of the request
-- ARGV[1]  the number of the request
-- ARGV[2]  how long the record is kept, in milliseconds
-- ARGV[3]  the channel on which waiters listen
-- ARGV[4]  the plan that announces permits
-- ARGV[5]  how many permits to put back if this request has no record
--
-- Replies
--   1                the permits were put back
--   0                there was nothing to put back, and this request takes nothing any more
--   error NOTLOCK    the key is no counter; nothing changed
--   error WRONGTYPE  the key is no string; nothing changed
--
-- If the counter is gone, so are its permits. A repeated request is answered with 0. When permits were put back,
-- the script announces by ARGV[4] on ARGV[3] how many are available.
--
-- Redisson has no such thing.

local taken = answered()
if taken == too_late then
  return 0
end
local permits, refused = count(counter)
if refused then
  return refused
end
taken = taken or tonumber(ARGV[5])
if taken == 0 or not permits then
  return remember(0)
end
write(permits + taken, 0)
announce_count(ARGV[3], ARGV[4], permits + taken)
return 1
