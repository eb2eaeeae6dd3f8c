-- sessions_stalled: which clients' heartbeats are overdue. Reads only.
--
-- KEYS[1]  the sorted set of clients: when the next beat of each is due
-- ARGV[1]  how many clients the reply may name
--
-- Reply: {now, client, due, client, due, …}, the one that is overdue for longest first
--   now  the server's clock in milliseconds
--   due  in absolute milliseconds, as text
--
-- Redisson: has nothing like it.

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local reply = {now}
local stalled = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', '(' .. string.format('%.0f', now),
  'WITHSCORES', 'LIMIT', 0, ARGV[1])
for _, word in ipairs(stalled) do
  reply[#reply + 1] = word
end
return reply
