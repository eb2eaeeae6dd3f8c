-- fair_acquire: take a fair lock if it is one's turn, or take it once more, or queue.
--
-- KEYS[1]  the lock: a hash with one field, the owner, whose value is the count
-- KEYS[2]  the queue
-- KEYS[3]  the deadlines
-- KEYS[4]  the keep-alives
-- KEYS[5]  the counter of fencing tokens, when a token is asked for
-- ARGV[1]  owner, "clientUUID:number"
-- ARGV[2]  lease in milliseconds
-- ARGV[3]  the owner's count after this call: 1, or one more than it holds
-- ARGV[4]  the slot: how many milliseconds a waiter has in its turn, for Java peers
-- ARGV[5]  "1" to queue when it is not one's turn, "0" not to
-- ARGV[6]  the rule by which the token counts, when one is asked for
--
-- Replies
--   1                acquired; the count is ARGV[3], the TTL at least ARGV[2]; not queued
--   {token}          the same, with a token
--   0                the count asked for builds on a hold that is gone; nothing changed
--   {ttl, holder}    held by another, or free for a waiter before this one; ttl is that of
--                    the lock for the next in turn, 0 to ask again at once, and -1 for all
--                    others; behind them the holder's note, if it has one
--   error NOTLOCK    the key is a hash, but no such lock; nothing changed
--   error WRONGTYPE  the key is no hash; nothing changed
--
-- A second run of the same call changes nothing more, except that it counts as a keep-alive.
--
-- Redisson: tryLockInnerAsync of RedissonFairLock. There, a new waiter's deadline is that of the
-- last in the queue plus a slot, and whoever acquires takes its slot off all deadlines. Here,
-- only Java waiters add to the deadlines behind them, up to a bound. The next in turn is given
-- its deadline when it comes to the head.

local owner, lease, count, slot = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])

local first = redis.call('LINDEX', queue, 0)
local holder, ttl, wrong = inspect(owner)

-- grant sets the count. It raises the TTL and never lowers it.
local function grant()
  local granted, refused = issue(KEYS[5], ARGV[6], 1)
  if refused then
    return refused
  end
  if first == owner then
    redis.call('LPOP', queue)
    redis.call('ZREM', deadlines, owner)
  elseif first then
    dequeue(owner)
  end
  redis.call('HSET', lock, owner, count)
  if holder then
    raise(lock, lease)
    lease = redis.call('PTTL', lock)
  else
    begin(lock, lease)
  end
  set_deadlines(slot, tonumber(lease))
  return granted
end

-- enqueue adds the owner to the end of the queue, unless it is in the queue.
local function enqueue()
  local deadline = redis.call('ZSCORE', deadlines, owner)
  local queued = deadline
  if not consistent() then
    queued = redis.call('LPOS', queue, owner)
  end
  if not deadline then
    local free = now + math.max(ttl, 0)
    local last = redis.call('LINDEX', queue, -1)
    local behind = last and tonumber(redis.call('ZSCORE', deadlines, last) or 0) or 0
    if last and not last_seen(last) then
      behind = behind + deduction(slot)
    end
    deadline = math.max(free + slot, math.min(behind, free + 16 * deduction(slot)))
    redis.call('ZADD', deadlines, ms(deadline), owner)
  end
  if not queued then
    redis.call('RPUSH', queue, owner)
  end
end

wrong = wrong or first and too_long()
if wrong then
  return wrong
end
if holder == owner then
  return grant()
end
if count ~= '1' then
  return gone(lock, owner) or 0
end
if not holder and (not first or first == owner) then
  return grant()
end
ttl = ttl or -2

-- A client that queues is alive. That is noted before its waiters are checked for silence, and
-- at most twice a second.
local queues = ARGV[5] == '1'
local at, client = last_seen(owner), client_of(owner)
local note = queues and client and (not at or at + 500 <= now)
if note and first then
  keep_alive(client)
end
local more
first, more = head(first)
if not holder and (not first or first == owner) then
  return grant()
end
if queues then
  enqueue()
  if note then
    keep_alive(client)
  end
  first = first or owner
end
if removed > 0 then
  set_deadlines(slot, ttl)
end
if more then
  ttl = 0
elseif first ~= owner then
  ttl = -1
end
return {ttl, holder or first, holder and note_of(lock, holder) or nil}
