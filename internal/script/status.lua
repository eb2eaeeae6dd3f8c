-- status: a mutex at one moment. Reads only.
--
-- KEYS[1]  the lock, a hash
-- KEYS[2]  the counter of fencing tokens
--
-- Reply: {ttl, token} or {ttl, token, owner, count}
--   ttl    milliseconds; -1 without expiry, -2 when the lock is free
--   token  the last token issued, as text; "0" if none
--   error NOTLOCK    the key is a hash, but no mutex
--   error WRONGTYPE  the key is no hash

local lock, tokens = KEYS[1], KEYS[2]

local found = held(lock)
if type(found) == 'table' and found.err then
  return found
end
local reply = {redis.call('PTTL', lock), last_token(tokens)}
for _, word in ipairs(found and redis.call('HGETALL', lock) or {}) do
  reply[#reply + 1] = word
end
return reply
