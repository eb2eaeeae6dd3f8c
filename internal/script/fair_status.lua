-- fair_status: the queue of a fair lock at one moment. Reads only.
--
-- KEYS[1]  the queue
-- KEYS[2]  the deadlines
--
-- Reply: {owner, deadline, owner, deadline, …} in the order of the queue
--   deadline  absolute milliseconds, as text; "0" for a waiter that has none

local reply = {}
for _, owner in ipairs(redis.call('LRANGE', KEYS[1], 0, -1)) do
  reply[#reply + 1] = owner
  reply[#reply + 1] = redis.call('ZSCORE', KEYS[2], owner) or '0'
end
return reply
