-- sessions_stalled: which clients' heartbeats are overdue. Reads only.
--
-- KEYS[1]  the sorted set of clients: when the next heartbeat of each is due
-- ARGV[1]  how many of the overdue to skip
-- ARGV[2]  how many clients the reply may name
-- ARGV[3]  the longest name of a client, in bytes
--
-- Reply: {now, all, skipped, client, due, client, due, …}, the one that is overdue for
-- longest first
--   now      the server's clock in milliseconds
--   all      how many are overdue
--   skipped  how many were left out because their name is too long
--   due      in absolute milliseconds, as text, as it stands in the set
--
-- Redisson: has nothing like it.

local reply = {now, redis.call('ZCOUNT', KEYS[1], '-inf', '(' .. ms(now)), 0}
local stalled = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', '(' .. ms(now), 'WITHSCORES', 'LIMIT', ARGV[1], ARGV[2])
for i = 1, #stalled, 2 do
  if #stalled[i] > tonumber(ARGV[3]) then
    reply[3] = reply[3] + 1
  else
    reply[#reply + 1] = stalled[i]
    reply[#reply + 1] = stalled[i + 1]
  end
end
return reply
