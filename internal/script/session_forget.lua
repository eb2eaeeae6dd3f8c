-- session_forget: a client removes some locks from its session.
--
-- KEYS[1]  the session, a hash
-- ARGV     the locks, each as "field lock", 500 at most
--
-- Reply: how many of them it had
--   error WRONGTYPE  the key is no hash; nothing changed
--
-- Redisson: has nothing like it.

return redis.pcall('HDEL', KEYS[1], unpack(ARGV))
