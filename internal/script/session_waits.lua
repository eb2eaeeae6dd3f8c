-- session_waits: a client tells what it waits for. What it told before is forgotten.
--
-- KEYS[1]  the client's waits, a hash
-- ARGV[1]  for how many milliseconds they outlive this call
-- ARGV[2+] two for each wait: "owner lock" and "mode since-confirmed hold hold …"; 256 waits at most
--
-- Reply: 1, or 0 if it told none before and tells none now
--
-- Redisson: has nothing like it.

local had = redis.call('DEL', KEYS[1])
if #ARGV == 1 then
  return had
end
redis.call('HSET', KEYS[1], unpack(ARGV, 2))
return redis.call('PEXPIRE', KEYS[1], ARGV[1])
