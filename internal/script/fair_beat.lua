-- fair_beat: one client says that it is alive, and so are its waiters for a fair lock.
--
-- KEYS[1]   the lock
-- KEYS[2]   the queue
-- KEYS[3]   the deadlines
-- KEYS[4]   the beats
-- ARGV[1]   the slot, in milliseconds
-- ARGV[2]   what the channels of all waiters begin with; ":" and the owner follow
-- ARGV[3]   the plan that announces a free lock
-- ARGV[4]   the client
-- ARGV[5]   how many waiting owners follow, 1 to 100
-- ARGV[6+]  these owners; then owners to withdraw, which do not wait any more
--
-- Reply: {ttl, first, missing, unknown}
--   ttl      of the lock, in milliseconds; -1 without expiry, -2 when it is free
--   first    the owner whose turn is next, "" if nobody waits
--   missing  a list: those of the owners that are not in the queue
--   unknown  a list: owners of the client in the front of the queue that were not named
--   error NOTLOCK    the key is a hash, but no such lock; nothing changed
--   error WRONGTYPE  the key is no hash; nothing changed
--
-- Those in front of the queue are given the deadlines that Java peers are to see. The next
-- in turn is told when the lock is free: a message may have been lost with a waiter that
-- has died. A waiter that is missing is not queued here, for it may just have left; if it
-- still waits it queues itself.
--
-- Redisson: has nothing like it.

local client, count = ARGV[4], tonumber(ARGV[5])

local _, _, wrong = inspect()
wrong = wrong or crowded()
if wrong then
  return wrong
end
hear(client)
local old = redis.call('ZRANGEBYSCORE', beats, 0, ms(now - 86400000), 'LIMIT', 0, 100) -- silent for a day
if old[1] then
  redis.call('ZREM', beats, unpack(old))
end
for i = 6 + count, #ARGV do
  withdraw(ARGV[i])
end

local front = redis.call('LRANGE', queue, 0, window - 1)
local length = redis.call('LLEN', queue)
if length > 0 and not in_step() then
  -- Somebody else has had a hand in it. What is looked at here is put right: the later one
  -- of two, whoever can never be told to be dead, and a deadline without a place.
  local known, mended = {}, 0
  for _, owner in ipairs(front) do
    if known[owner] and mended < 4 then
      redis.call('LREM', queue, -1, owner)
      mended = mended + 1
    elseif not seen(owner) and not redis.call('ZSCORE', deadlines, owner) then
      redis.call('LREM', queue, 0, owner)
    end
    known[owner] = true
  end
  for i = 6, 5 + math.min(count, math.ceil(20000 / length)) do
    if not redis.call('LPOS', queue, ARGV[i]) then
      redis.call('ZREM', deadlines, ARGV[i])
    end
  end
end

local first = head(redis.call('LINDEX', queue, 0))
local ttl = redis.call('PTTL', lock)
settle(tonumber(ARGV[1]), ttl, true)
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
for _, owner in ipairs(front) do
  if not named[owner] and client_of(owner) == client then
    unknown[#unknown + 1] = owner
  end
end
return {ttl, first or '', missing, unknown}
