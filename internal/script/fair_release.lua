-- fair_release: give back one hold of a fair lock, or the last one.
--
-- KEYS[1]  the lock: a hash with one field, the owner, whose value is the count
-- KEYS[2]  the queue
-- KEYS[3]  the deadlines
-- KEYS[4]  the beats
-- ARGV[1]  owner, "clientUUID:number"
-- ARGV[2]  the owner's count after this call; 0 frees the lock
-- ARGV[3]  lease in milliseconds, for the holds that remain
-- ARGV[4]  the slot, in milliseconds
-- ARGV[5]  what the channels of all waiters begin with; ":" and the owner follow
-- ARGV[6]  the plan that announces a free lock
--
-- Replies
--   n >= 0           done; n subscribers were told (0 when holds remain or nobody waits)
--   -1               the owner does not hold the lock; it is not in the queue any more
--   -2               freed, but the server refused to publish
--   error WRONGTYPE  the key is no hash; nothing changed
--
-- Announces ARGV[6] on the channel of the next waiter when the lock becomes free. Also
-- takes the owner out of the queue, so that it serves to withdraw a bid.
--
-- Redisson: unlockInnerAsync of RedissonFairLock, which reports success when the lock is
-- gone.

local owner, slot = ARGV[1], tonumber(ARGV[4])

local held = redis.pcall('HEXISTS', lock, owner)
if type(held) == 'table' then
  return held -- WRONGTYPE, as it is
end
if ARGV[2] ~= '0' and held == 1 then
  redis.call('HSET', lock, owner, ARGV[2])
  redis.call('PEXPIRE', lock, ARGV[3])
  return 0
end

local was = head(slot)
forget(owner, slot)
if held == 1 then
  redis.call('DEL', lock)
end
local told = 0
local first = head(slot)
-- A waiter that leaves from the front while the lock is free may have been told of it:
-- then the next has to be.
if first and redis.call('EXISTS', lock) == 0 and (held == 1 or was == owner) then
  told = announce(ARGV[5] .. ':' .. first, ARGV[6])
end
if held == 0 then
  return -1
end
return told
