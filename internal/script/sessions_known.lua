-- sessions_known: which clients are protected. Reads only.
--
-- KEYS[1]  the sorted set of clients: when the next heartbeat of each is due
-- ARGV[1]  how many clients the reply may name
-- ARGV[2]  the longest name of a client, in bytes
--
-- Reply: {now, all, skipped, client, client, …}, those that were heard of last first
--   now      the server's clock in milliseconds
--   all      how many clients there are
--   skipped  how many were left out because their name is too long
--   error WRONGTYPE  the key is no sorted set
--
-- Redisson: has nothing like it.

local all = redis.pcall('ZCARD', KEYS[1])
if type(all) == 'table' then
  return all -- WRONGTYPE, as it is
end
local reply = {now, all, 0}
for _, client in ipairs(redis.call('ZREVRANGE', KEYS[1], 0, ARGV[1] - 1)) do
  if #client > tonumber(ARGV[2]) then
    reply[3] = reply[3] + 1
  else
    reply[#reply + 1] = client
  end
end
return reply
