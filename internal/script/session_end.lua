-- session_end: a client's heartbeat is not waited for any more.
--
-- KEYS[1]  the sorted set of clients: when the next heartbeat of each is due
-- ARGV[1]  the client
-- ARGV[2]  only if its heartbeat was due then, as sessions_stalled gives it; "" for any time
--
-- Reply: 1, or 0 if it was not in the set, or has sent a heartbeat since
--
-- Redisson: has nothing like it.

if ARGV[2] ~= '' and redis.call('ZSCORE', KEYS[1], ARGV[1]) ~= ARGV[2] then
  return 0
end
return redis.call('ZREM', KEYS[1], ARGV[1])
