-- session_read: what a client's session speaks of. Reads only.
--
-- KEYS[1]  the session, a hash
--
-- Reply: {field, entry, field, entry, …}
--   field  "field lock"
--   entry  "side count lease until"
--   error WRONGTYPE  the key is no hash
--
-- Redisson: has nothing like it.

return redis.pcall('HGETALL', KEYS[1])
