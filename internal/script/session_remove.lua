-- session_remove: a watchdog removes the session of a client that is gone, or that was paused
-- for too long. Its locks are not touched.
--
-- KEYS[1]  the session
-- ARGV[1]  the pulse that it must name
--
-- Reply: 1, or 0 if the key is no session of that pulse: nothing changed
--
-- Redisson: has nothing like it.

if redis.pcall('HGET', KEYS[1], 'pulse') ~= ARGV[1] then
  return 0
end
return redis.call('UNLINK', KEYS[1])
