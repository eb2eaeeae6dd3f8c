-- guarded: run a command on a key with a token that is not older than the last.
--
-- KEYS[1]   the last token that passed, a decimal string
-- KEYS[2]   the guarded key: the first argument of the command; absent: there is no
--           command, and only the token is checked
-- ARGV[1]   the token: a positive decimal number without leading zeros
-- ARGV[2]   how long to remember it, in milliseconds; 0: for ever
-- ARGV[3]   the command; only with KEYS[2]
-- ARGV[4+]  what follows the key in the command, at most 4,000 words: Lua's stack ends
--           below 8,000, and the command would fail after its token has passed
--
-- Replies
--   {1, reply}       passed; KEYS[1] is ARGV[1], reply is the command's (nil: none)
--   {0, last}        refused, last is newer; nothing changed
--   error NOTTOKEN   KEYS[1] is not a token; nothing changed
--   error WRONGTYPE  KEYS[1] is not a string and nothing changed, or the command's own
--   any other error  the command's own; the token may have passed
--
-- Redisson: has nothing like it. No other script reads KEYS[1].

local fence, key, token, keep, command = KEYS[1], KEYS[2], ARGV[1], ARGV[2], ARGV[3]

local last = redis.pcall('GET', fence)
if type(last) == 'table' then
  return last -- WRONGTYPE, as it is
end
if last then
  if not string.find(last, '^[1-9]%d*$') then
    return redis.error_reply('NOTTOKEN ' .. fence .. ' is not a token')
  end
  -- Compared as text: Lua's numbers are exact up to 2^53 only, and tokens may be larger.
  if #last > #token or #last == #token and last > token then
    return {0, last}
  end
end

-- The token is written first. If the command fails then, the stored token refuses only older
-- tokens, which is correct. A write without its token would let an older token pass later.
if keep == '0' then
  redis.call('SET', fence, token)
else
  redis.call('SET', fence, token, 'PX', keep)
end
if not key then
  return {1, false}
end
local reply = redis.pcall(command, key, unpack(ARGV, 4))
if type(reply) == 'table' and reply.err then
  return reply
end
return {1, reply}
