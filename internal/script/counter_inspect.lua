-- counter_inspect: a counter at one moment, with the leased permits in use, if there are any. Reads only.
--
-- KEYS[1]  the counter of a semaphore or a latch
-- KEYS[2]  the permits in use, a sorted set; left out if it lies in another slot of the cluster
-- ARGV[1]  how many permits the reply is to name at most
--
-- Reply: {now, ttl, count, used, expired, permits}
--   now      the server's clock in milliseconds
--   ttl      of the counter, in milliseconds; -1 without expiry, -2 if it is not there
--   count    the counter as text, "" if it is not there
--   used     how many permits are in use, with those that have expired; -1 if that key is no sorted set
--   expired  how many of them have expired
--   permits  {id, end, noted, id, …}, the one that expires first first; end is absolute milliseconds as text,
--            and noted is as in status
--   error NOTLOCK    the key is a string, but no counter
--   error WRONGTYPE  the key is no string

local counter, set = KEYS[1], KEYS[2]

local n, refused = count(counter)
if refused then
  return refused
end
local time = server_time()
local used, expired, permits = set and redis.pcall('ZCARD', set) or 0, 0, {}
if type(used) == 'table' then
  if not string.find(used.err, '^WRONGTYPE') then
    return used -- this user may not ask, which says nothing of the key
  end
  used = -1
end
if used > 0 and not bulky(set, 512 * used + 16384) then
  expired = redis.call('ZCOUNT', set, 0, ms(time))
  local some = redis.call('ZRANGEBYSCORE', set, '-inf', '+inf', 'WITHSCORES', 'LIMIT', 0, ARGV[1])
  for i = 1, #some, 2 do
    permits[#permits + 1] = some[i]
    permits[#permits + 1] = some[i + 1]
    permits[#permits + 1] = noted(counter, some[i])
  end
end
return {time, redis.call('PTTL', counter), n and whole(n) or '', used, expired, permits}
