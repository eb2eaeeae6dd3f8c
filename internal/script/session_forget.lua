-- session_forget: a client's session does not speak of some locks any more.
--
-- KEYS[1]  the session, a hash
-- ARGV     the locks, each as "field lock"
--
-- Reply: how many of them it had spoken of
--   error WRONGTYPE  the key is no hash; nothing changed
--
-- Redisson: has nothing like it.

local forgotten = 0
for i = 1, #ARGV do
  local gone = redis.pcall('HDEL', KEYS[1], ARGV[i])
  if type(gone) == 'table' then
    return gone -- WRONGTYPE, as it is
  end
  forgotten = forgotten + gone
end
return forgotten
