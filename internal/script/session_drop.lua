-- session_drop: remove a client's session. Its locks are not touched.
--
-- KEYS[1]  the session
--
-- Reply: 1, or 0 if there was none
--
-- Redisson: has nothing like it.

return redis.call('DEL', KEYS[1])
