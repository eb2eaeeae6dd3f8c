-- session_touch: a client's own: name its pulse, keep its session from expiring, count it.
--
-- KEYS[1]  the session, a hash
-- ARGV[1]  for how many milliseconds it outlives this call, if nothing touches it
-- ARGV[2]  the client's pulse; "" if it has none now
--
-- Reply: of how many locks it speaks
--   error WRONGTYPE  the key is no hash; nothing changed
--
-- Redisson: has nothing like it.

local size = redis.pcall('HLEN', KEYS[1])
if type(size) == 'table' then
  return size -- WRONGTYPE, as it is
end
if ARGV[2] == '' then
  redis.call('HDEL', KEYS[1], 'pulse')
  size = redis.call('HLEN', KEYS[1])
else
  redis.call('HSET', KEYS[1], 'pulse', ARGV[2])
  size = redis.call('HLEN', KEYS[1]) - 1
end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return size
