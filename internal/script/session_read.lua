-- session_read: read a part of a client's session. Reads only.
--
-- KEYS[1]  the session, a hash
-- ARGV[1]  where the last part ended; 0 for the first
-- ARGV[2]  how many entries the part is to have, roughly: a small hash is read whole
-- ARGV[3]  the longest field, in bytes
-- ARGV[4]  the longest entry or pulse, in bytes
--
-- Reply: {next, skipped, pulse, field, entry, field, entry, …}
--   next     where the next part begins, as text; 0 if this was the last
--   skipped  how many entries were too long
--   pulse    of the client, "" without one
--   field    "field lock"
--   entry    "side count lease until"
--   error WRONGTYPE  the key is no hash
--
-- A field may stand in more than one part.
--
-- Redisson: has nothing like it.

local part = redis.pcall('HSCAN', KEYS[1], ARGV[1], 'COUNT', ARGV[2])
if part.err then
  return part -- WRONGTYPE, as it is
end
local longest, widest = tonumber(ARGV[3]), tonumber(ARGV[4])
local pulse = ''
if redis.call('HSTRLEN', KEYS[1], 'pulse') <= widest then
  pulse = redis.call('HGET', KEYS[1], 'pulse') or ''
end
local reply = {part[1], 0, pulse}
local words = part[2]
for i = 1, #words, 2 do
  if words[i] == 'pulse' then
    -- it is in front
  elseif #words[i] > longest or #words[i + 1] > widest then
    reply[2] = reply[2] + 1
  else
    reply[#reply + 1] = words[i]
    reply[#reply + 1] = words[i + 1]
  end
end
return reply
