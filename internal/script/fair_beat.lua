-- fair_beat: one process says that its waiters for a fair lock are alive.
--
-- KEYS[1]   the lock
-- KEYS[2]   the queue
-- KEYS[3]   the deadlines
-- KEYS[4]   the beats
-- ARGV[1]   the slot: for how many milliseconds a waiter counts as alive
-- ARGV[2]   what the channels of all waiters begin with; ":" and the owner follow
-- ARGV[3]   the plan that announces a free lock
-- ARGV[4+]  the owners of the process's waiters
--
-- Reply: {ttl, first, missing, missing, …}
--   ttl      of the lock, in milliseconds; -1 without expiry, -2 when it is free
--   first    the owner whose turn is next, "" if nobody waits
--   missing  those of the process's waiters that are not in the queue
--   error WRONGTYPE  the lock is no hash; nothing changed
--
-- The deadline of each waiter of the process is raised to one slot for itself and one for
-- each of ours before it, and to one slot beyond its predecessor's, so that neither a long
-- hold nor a Java peer that acquires ages it out. Java waiters before it are not counted:
-- what they take off when they acquire is theirs, and may be less than a slot. List, deadlines and beats are made to agree. The
-- next in turn is told when the lock is free: a message may have been lost with a waiter
-- that has died. A waiter that is missing is not queued here, for it may just have left; if
-- it still waits it queues itself.
--
-- Redisson: has nothing like it.

local slot = tonumber(ARGV[1])

local kind = redis.call('TYPE', lock).ok
if kind ~= 'none' and kind ~= 'hash' then
  return redis.error_reply('WRONGTYPE Operation against a key holding the wrong kind of value')
end

local mine = {}
for i = 4, #ARGV do
  mine[ARGV[i]] = true
end
for _, owner in ipairs(redis.call('LRANGE', queue, 0, -1)) do
  if mine[owner] then
    redis.call('ZADD', beats, ms(now), owner)
  end
end
local first = head(slot)

local at, ours, before = {}, 0, 0
for _, owner in ipairs(redis.call('LRANGE', queue, 0, -1)) do
  if at[owner] then
    redis.call('LREM', queue, -1, owner) -- the later one of two
  elseif not redis.call('ZSCORE', deadlines, owner) and not redis.call('ZSCORE', beats, owner) then
    redis.call('LREM', queue, 0, owner) -- nobody can tell when it would be dead
  else
    at[owner] = true
    if redis.call('ZSCORE', beats, owner) then
      ours = ours + 1
    end
    local deadline = tonumber(redis.call('ZSCORE', deadlines, owner) or 0)
    local own, behind = now + ours * slot, before + slot
    -- Time moves the first on; half a slot is left to spare, so that a wait does not
    -- write all the time.
    if deadline == 0 or mine[owner] and (deadline < own - slot / 2 or deadline < behind) then
      deadline = math.max(own, behind)
      redis.call('ZADD', deadlines, ms(deadline), owner)
    end
    before = deadline
  end
end
for _, set in ipairs({deadlines, beats}) do
  for _, owner in ipairs(redis.call('ZRANGE', set, 0, -1)) do
    if not at[owner] then
      redis.call('ZREM', set, owner)
    end
  end
end

local ttl = redis.call('PTTL', lock)
if first and ttl == -2 then
  announce(ARGV[2] .. ':' .. first, ARGV[3])
end
local reply = {ttl, first or ''}
for i = 4, #ARGV do
  if not at[ARGV[i]] then
    reply[#reply + 1] = ARGV[i]
  end
end
return reply
