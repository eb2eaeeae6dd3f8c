-- rw_status: what a read-write lock looks like at one moment. Reads only.
--
-- KEYS[1]  the lock: a hash with the field "mode" and one field for each owner
-- KEYS[2]  the counter of fencing tokens
-- ARGV[1]  what the timeout keys of all readers begin with
--
-- Reply: {ttl, token, mode, field, value, left, field, value, left, …}
--   ttl    of the lock, in milliseconds; -1 without expiry, -2 when it is free
--   token  the last token issued, as text; "0" if none
--   mode   "read", "write", or "" when the lock is free
--   left   milliseconds until this owner's last hold ends unless it is renewed; -1
--          without expiry; 0 for a reader that is dead already
--   error NOTLOCK    when the key is a hash, but no read-write lock
--   error WRONGTYPE  when the key is no hash

local lock, tokens, prefix = KEYS[1], KEYS[2], ARGV[1]

local fields = redis.pcall('HGETALL', lock)
if fields.err then
  return fields -- WRONGTYPE, as it is
end
local mode = redis.call('HGET', lock, 'mode') or ''
if #fields > 0 and mode ~= 'read' and mode ~= 'write' then
  return redis.error_reply('NOTLOCK the hash has no mode')
end

local ttl = redis.call('PTTL', lock)
local reply = {ttl, redis.call('GET', tokens) or '0', mode}
for i = 1, #fields, 2 do
  local field, value = fields[i], fields[i + 1]
  if field ~= 'mode' then
    local left = 0
    if string.find(field, ':write$') then
      left = ttl
    else
      for hold = 1, tonumber(value) or 0 do
        local own = redis.call('PTTL', prefix .. ':' .. field .. ':rwlock_timeout:' .. hold)
        left = math.max(left, own == -1 and ttl or own)
      end
    end
    reply[#reply + 1] = field
    reply[#reply + 1] = value
    reply[#reply + 1] = left
  end
end
return reply
