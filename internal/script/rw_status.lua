-- rw_status: a read-write lock at one moment, with all its owners or with one. Reads only. If it has
-- more than a thousand owners, some are left out.
--
-- KEYS[1]  the lock: a hash with the field "mode" and one field for each owner
-- KEYS[2]  the counter of fencing tokens
-- ARGV[1]  what the timeout keys of all readers begin with
-- ARGV[2]  the only owner to name; absent: all of them
--
-- Reply: {ttl, token, mode, owners, field, value, left, noted, field, …}
--   ttl    of the lock, in milliseconds; -1 without expiry, -2 when it is free
--   token  the last token issued, as text; "0" if none
--   mode   "read", "write", or "" when the lock is free
--   owners how many fields of owners the lock has, also of those that are not named
--   left   milliseconds until this owner's last hold ends unless it is renewed; -1
--          without expiry; 0 for a reader that is dead already
--   noted  as in status
--   error NOTLOCK    when the key is a hash, but no read-write lock
--   error WRONGTYPE  when the key is no hash

local tokens, prefix, only = KEYS[2], ARGV[1], ARGV[2]


local reply = {lock_ttl(), last_token(tokens), mode or '', mode and redis.call('HLEN', lock) - 1 or 0}
local fields = mode and some_fields(only) or {}
for i = 1, #fields, 2 do
  local field, value = fields[i], fields[i + 1]
  if field ~= 'mode' then
    reply[#reply + 1] = field
    reply[#reply + 1] = value
    reply[#reply + 1] = lifetime(prefix, field, value) or 0
    reply[#reply + 1] = noted(lock, field)
  end
end
return reply
