-- status: a mutex at one moment. Reads only.
--
-- KEYS[1]  the lock, a hash
-- KEYS[2]  the counter of fencing tokens
--
-- Reply: {ttl, token} or {ttl, token, owner, count, noted}
--   ttl    milliseconds; -1 without expiry, -2 when the lock is free
--   token  the last token issued, as text; "0" if none
--   noted  {note, recall, told}: what the owner says of its hold, what others ask of it, and
--          "1" if it knows; {} if there is neither
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
if reply[3] then
  reply[5] = noted(lock, reply[3])
end
return reply
