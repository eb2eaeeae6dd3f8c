-- session_touch: a client names its pulse, keeps its session from expiring, and counts it.
--
-- KEYS[1]  the session, a hash
-- ARGV[1]  for how many milliseconds it outlives this call, if nothing touches it
-- ARGV[2]  the client's pulse; "" if it has none now
--
-- Reply: how many locks it has
--   error WRONGTYPE  the key is no hash; nothing changed
--
-- Redisson: has nothing like it.

local none = ARGV[2] == ''
local done = none and redis.pcall('HDEL', KEYS[1], 'pulse') or redis.pcall('HSET', KEYS[1], 'pulse', ARGV[2])
if type(done) == 'table' then
  return done -- WRONGTYPE, as it is
end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return redis.call('HLEN', KEYS[1]) - (none and 0 or 1)
