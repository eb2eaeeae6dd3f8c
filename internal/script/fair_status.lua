-- fair_status: the queue of a fair lock at one moment. Reads only.
--
-- KEYS[1]  the queue
-- KEYS[2]  the deadlines
--
-- Reply: {owner, deadline, owner, deadline, …} in the order of the queue, for the first
-- 10,000 of it
--   deadline  absolute milliseconds, as text; "0" for a waiter that has none

local queue, deadlines = KEYS[1], KEYS[2]
local reply = {}
for from = 0, 9000, 1000 do
  local some = redis.call('LRANGE', queue, from, from + 999)
  if not some[1] then
    break
  end
  local scores = redis.call('ZMSCORE', deadlines, unpack(some))
  for i, owner in ipairs(some) do
    reply[#reply + 1] = owner
    reply[#reply + 1] = scores[i] or '0'
  end
end
return reply
