-- sessions_due: when the next heartbeats of some clients are due. Reads only.
--
-- KEYS[1]  the sorted set of clients: when the next heartbeat of each is due
-- ARGV     the clients
--
-- Reply: {due, due, …}, one for each client
--   due  in absolute milliseconds, as text, as it stands in the set; "" if the client is not there
--
-- Redisson: has nothing like it.

local reply = {}
for i, client in ipairs(ARGV) do
  reply[i] = redis.call('ZSCORE', KEYS[1], client) or ''
end
return reply
