-- permit_acquire: take one permit for a lease.
--
-- KEYS[1]  the counter of available permits
-- KEYS[2]  the permits in use, a sorted set
-- ARGV[1]  the id of the permit, sixteen bytes
-- ARGV[2]  lease in milliseconds
-- ARGV[3]  the channel on which waiters listen
-- ARGV[4]  the plan that announces permits
--
-- Replies
--   1                taken, for at least ARGV[2]; or the id had it already
--   {ttl, ''}        none is available; the first one expires in so many milliseconds, -1 if none
--                    does, -2 if there is no counter; expired permits may have been put back
--   error NOTLOCK    the counter is none; nothing changed
--   error WRONGTYPE  one of the keys is of another type; nothing changed
--
-- It puts back up to a hundred expired permits first. Announces by ARGV[4] on ARGV[3] how many are
-- available if it has put back any. An id that has expired, and was not put back, is taken once
-- more: its permit is not available to others.
--
-- Redisson: tryAcquireAsync of RedissonPermitExpirableSemaphore. It takes the time from the client,
-- and takes a permit from the counter once more when it is repeated.

local counter, set, id, lease = KEYS[1], KEYS[2], ARGV[1], ARGV[2]

local permits, refused = count(counter)
if refused then
  return refused
end
local score = redis.pcall('ZSCORE', set, id)
if type(score) == 'table' then
  return score
end
if not permits then
  return {-2, ''}
end
local back = score and 0 or put_back(counter, set)
local left = permits + back
if not score and left < 1 then
  local first = redis.call('ZRANGE', set, 0, 0, 'WITHSCORES')
  local ttl = first[2] and math.max(first[2] - server_time(), 0) or -1
  return {ttl > 315360000000 and -1 or ttl, ''} -- ten years: Redisson's "never"
end
local expiry = server_time() + lease
if score then
  redis.call('ZADD', set, ms(math.max(expiry, tonumber(score))), id)
else
  redis.call('INCRBY', counter, -1)
  local added = redis.pcall('ZADD', set, ms(expiry), id)
  if type(added) == 'table' then
    redis.call('INCRBY', counter, 1)
    return added
  end
  left = left - 1
end
keep(counter, set, lease)
if back > 0 then
  announce_count(ARGV[3], ARGV[4], left)
end
return 1
