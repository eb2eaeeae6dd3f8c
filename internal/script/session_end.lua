-- session_end: the heartbeats of some clients are not waited for any more.
--
-- KEYS[1]  the sorted set of clients: when the next heartbeat of each is due
-- ARGV     two for each client: its name, and when its heartbeat was due, as sessions_stalled
--          gives it; "" for any time
--
-- Reply: how many were in the set and have not sent a heartbeat since
--
-- Redisson: has nothing like it.

local ended = 0
for i = 1, #ARGV, 2 do
  if ARGV[i + 1] == '' or redis.call('ZSCORE', KEYS[1], ARGV[i]) == ARGV[i + 1] then
    ended = ended + redis.call('ZREM', KEYS[1], ARGV[i])
  end
end
return ended
