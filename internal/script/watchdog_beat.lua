-- watchdog_beat: one watchdog says that it runs, and learns of the others.
--
-- KEYS[1]  the sorted set of watchdogs: until when each counts as alive
-- ARGV[1]  the watchdog
-- ARGV[2]  for how many milliseconds it counts as alive from now on; 0 not to be counted
--
-- Reply: {now, watchdog, watchdog, …}
--   now       the server's clock in milliseconds
--   watchdog  those that are alive, itself included
--
-- Those whose time is over are removed. The set expires with the last of them.
--
-- Redisson: has nothing like it.

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

-- ms writes a time in full: Lua would write a large one with an exponent.
local function ms(t)
  return string.format('%.0f', t)
end

redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', '(' .. ms(now))
if ARGV[2] == '0' then
  redis.call('ZREM', KEYS[1], ARGV[1])
else
  redis.call('ZADD', KEYS[1], ms(now + ARGV[2]), ARGV[1])
end

local reply = {now}
for _, watchdog in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
  reply[#reply + 1] = watchdog
end
local last = redis.call('ZRANGE', KEYS[1], -1, -1, 'WITHSCORES')[2]
if last then
  redis.call('PEXPIREAT', KEYS[1], ms(last + 1))
end
return reply
