-- session_heartbeat: a client says that it runs.
--
-- KEYS[1]  the sorted set of clients: when the next heartbeat of each is due
-- KEYS[2]  the sorted set of watchdogs: until when each counts as alive
-- ARGV[1]  the client
-- ARGV[2]  in how many milliseconds its next heartbeat is due
--
-- Reply: {now, watchdogs, joined}
--   now        the server's clock in milliseconds
--   watchdogs  how many of them are alive
--   joined     1 if the client was not in the set, 0 if it was
--
-- Each call removes some of the clients that were silent for a day, because no watchdog may be
-- running that would. It also removes those whose heartbeat is due in more than a day. The set
-- itself expires two days after the last heartbeat of all.
--
-- Redisson: has nothing like it.

local day = 24 * 60 * 60 * 1000
prune(KEYS[1], now - day, now + day)
local joined = redis.call('ZADD', KEYS[1], ms(now + ARGV[2]), ARGV[1])
redis.call('PEXPIRE', KEYS[1], ms(2 * day))
return {now, redis.call('ZCOUNT', KEYS[2], ms(now), ms(now + 10000)), joined}
