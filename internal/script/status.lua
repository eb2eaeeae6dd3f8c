-- status: what a mutex looks like at one moment. Reads only.
--
-- KEYS[1]  the lock, a hash
-- KEYS[2]  the counter of fencing tokens
--
-- Reply: {ttl, token, field, value, field, value, …}
--   ttl    milliseconds; -1 without expiry, -2 when the lock is free
--   token  the last token issued, as text; "0" if none
--   error WRONGTYPE when the key is no hash

local lock, tokens = KEYS[1], KEYS[2]

local fields = redis.pcall('HGETALL', lock)
if fields.err then
  return fields -- WRONGTYPE, as it is
end
local reply = {redis.call('PTTL', lock), redis.call('GET', tokens) or '0'}
for _, word in ipairs(fields) do
  reply[#reply + 1] = word
end
return reply
