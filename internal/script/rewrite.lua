-- rewrite: write when a key ends, as it is.
--
-- KEYS[1]  the lock or the semaphore
--
-- Reply: 1; 0 if there is no such key
--
-- Redisson does not know it. WAIT, from Redis 7.2 on, waits for what its own connection has written, and
-- the renewal in front of it may have changed nothing.

local left = redis.call('PTTL', KEYS[1])
if left == -1 then
  redis.call('PEXPIRE', KEYS[1], 60000)
  return redis.call('PERSIST', KEYS[1])
end
return left > 0 and redis.call('PEXPIRE', KEYS[1], left) or 0
