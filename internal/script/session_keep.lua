-- session_keep: a watchdog lets a session outlive this call, and removes some entries.
--
-- KEYS[1]  the session, a hash
-- ARGV[1]  the pulse that it must name
-- ARGV[2]  for how many milliseconds it outlives this call, at least
-- ARGV[3+] entries to remove, each as "field lock"
--
-- Reply: 1, or 0 if the key is no session of that pulse: nothing changed
--
-- Redisson: has nothing like it.

if redis.pcall('HGET', KEYS[1], 'pulse') ~= ARGV[1] then
  return 0
end
for i = 3, #ARGV do
  redis.call('HDEL', KEYS[1], ARGV[i])
end
local ttl = redis.call('PTTL', KEYS[1])
if ttl >= 0 and ttl < tonumber(ARGV[2]) then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return 1
