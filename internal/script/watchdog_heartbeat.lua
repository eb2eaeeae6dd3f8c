-- watchdog_heartbeat: a watchdog says that it runs, and learns of the others.
--
-- KEYS[1]  the sorted set of watchdogs: until when each counts as alive
-- ARGV[1]  the watchdog
-- ARGV[2]  for how many milliseconds it counts as alive from now on; 0 not to be counted
-- ARGV[3]  how many watchdogs the reply may name
-- ARGV[4]  the longest name of a watchdog, in bytes
--
-- Reply: {now, alive, watchdog, watchdog, …}
--   now       the server's clock in milliseconds
--   alive     how many are, this one included
--   watchdog  some of them
--
-- Those whose time is over, or more than ten seconds away, do not count. Each call removes some
-- of them. The set expires ten seconds after the last call.
--
-- Redisson: has nothing like it.

local span = 10000
prune(KEYS[1], now, now + span)
if ARGV[2] == '0' then
  redis.call('ZREM', KEYS[1], ARGV[1])
else
  redis.call('ZADD', KEYS[1], ms(now + ARGV[2]), ARGV[1])
end
redis.call('PEXPIRE', KEYS[1], ms(span))

local reply = {now, redis.call('ZCOUNT', KEYS[1], ms(now), ms(now + span))}
for _, watchdog in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], ms(now), ms(now + span), 'LIMIT', 0, ARGV[3])) do
  if #watchdog <= tonumber(ARGV[4]) then
    reply[#reply + 1] = watchdog
  end
end
return reply
