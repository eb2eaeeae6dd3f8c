-- session_note: a client notes in its session that it holds, or may soon hold, some locks.
--
-- KEYS[1]  the session, a hash
-- ARGV[1]  for how many milliseconds it outlives this call, if nothing touches it
-- ARGV[2+] two for each lock: "field lock" and "side count lease until"; 500 locks at most
--
-- Reply: 1
--   error WRONGTYPE  the key is no hash; nothing changed
--
-- Redisson: has nothing like it.

local set = redis.pcall('HSET', KEYS[1], unpack(ARGV, 2))
if type(set) == 'table' then
  return set -- WRONGTYPE, as it is
end
return redis.call('PEXPIRE', KEYS[1], ARGV[1])
