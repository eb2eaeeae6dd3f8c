-- session_touch: keep a client's session from expiring, and count it.
--
-- KEYS[1]  the session, a hash
-- ARGV[1]  for how many milliseconds it outlives this call, if nothing touches it
--
-- Reply: of how many locks it speaks
--   error WRONGTYPE  the key is no hash; nothing changed
--
-- Redisson: has nothing like it.

local size = redis.pcall('HLEN', KEYS[1])
if type(size) == 'number' and size > 0 then
  redis.call('PEXPIRE', KEYS[1], ARGV[1])
end
return size
