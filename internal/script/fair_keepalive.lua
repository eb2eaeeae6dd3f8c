-- fair_keepalive: a client says that it is alive, and so are its waiters for a fair lock.
--
-- KEYS[1]   the lock
-- KEYS[2]   the queue
-- KEYS[3]   the deadlines
-- KEYS[4]   the keep-alives
-- ARGV[1]   the slot, in milliseconds
-- ARGV[2]   what the channels of all waiters begin with; ":" and the owner follow
-- ARGV[3]   the plan that announces a free lock
-- ARGV[4]   the client
-- ARGV[5]   how many waiting owners follow, 1 to 100
-- ARGV[6+]  these owners; then owners that do not wait any more, to be taken out of the queue
--
-- Reply: {ttl, first, missing, unknown}
--   ttl      of the lock, in milliseconds; -1 without expiry, -2 when it is free
--   first    the owner whose turn is next, "" if nobody waits
--   missing  a list: the named owners that are not in the queue
--   unknown  a list: owners of the client at the front of the queue that were not named
--   error NOTLOCK    the key is a hash, but no such lock; nothing changed
--   error WRONGTYPE  the key is no hash; nothing changed
--
-- Waiters at the front of the queue are given the deadlines that Java peers are to see, by the
-- client of the head. If the lock is free, the next in turn is told: an earlier message may have been lost with a waiter
-- that has died. A missing waiter is not queued here, because it may just have left. If it still
-- waits, it queues itself.
--
-- Redisson: has nothing like it.

local client, count = ARGV[4], tonumber(ARGV[5])

local _, _, wrong = inspect()
wrong = wrong or too_long()
if wrong then
  return wrong
end
keep_alive(client)
local old = redis.call('ZRANGEBYSCORE', keepalives, 0, ms(now - 86400000), 'LIMIT', 0, 100) -- silent for a day
if old[1] then
  redis.call('ZREM', keepalives, unpack(old))
end
for i = 6 + count, #ARGV do
  dequeue(ARGV[i])
end

local front = redis.call('LRANGE', queue, 0, window - 1)
if front[1] and not consistent() then
  -- Something else has written to the queue. Three faults are mended here: a second entry of
  -- one owner, a foreign owner without a deadline, and the deadline of a named owner that is not
  -- in the queue.
  local known = {}
  for _, owner in ipairs(front) do
    if known[owner] then
      if may_walk() then
        redis.call('LREM', queue, -1, owner)
      end
    elseif not last_seen(owner) and not redis.call('ZSCORE', deadlines, owner) then
      redis.call('LREM', queue, 1, owner)
    end
    known[owner] = true
  end
  for i = 6, 5 + count do
    if not may_walk() then
      break
    end
    if not redis.call('LPOS', queue, ARGV[i]) then
      redis.call('ZREM', deadlines, ARGV[i])
    end
  end
end

local first = head(redis.call('LINDEX', queue, 0))
local ttl = redis.call('PTTL', lock)
-- The client of the head checks the deadlines of the window, and every client does if the head is
-- foreign or new. So the work for a queue does not grow with the number of clients.
if not first or not last_seen(first) or client_of(first) == client or removed > 0 or #ARGV > 5 + count then
  set_deadlines(tonumber(ARGV[1]), ttl, window)
end
if first and ttl == -2 then
  announce(ARGV[2] .. ':' .. first, ARGV[3])
end

local named, missing, unknown = {}, {}, {}
for i, deadline in ipairs(redis.call('ZMSCORE', deadlines, unpack(ARGV, 6, 5 + count))) do
  local owner = ARGV[5 + i]
  named[owner] = true
  if not deadline then
    missing[#missing + 1] = owner
  end
end
local own = client .. ':'
for _, owner in ipairs(front) do
  if string.sub(owner, 1, #own) == own and not named[owner] then
    unknown[#unknown + 1] = owner
  end
end
return {ttl, first or '', missing, unknown}
