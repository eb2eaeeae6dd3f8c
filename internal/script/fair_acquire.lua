-- fair_acquire: take a fair lock if it is one's turn, or take it once more, or queue.
--
-- KEYS[1]  the lock: a hash with one field, the owner, whose value is the count
-- KEYS[2]  the queue
-- KEYS[3]  the deadlines
-- KEYS[4]  the beats
-- KEYS[5]  the counter of fencing tokens, when a token is asked for
-- ARGV[1]  owner, "clientUUID:number"
-- ARGV[2]  lease in milliseconds
-- ARGV[3]  the owner's count after this call: 1, or one more than it holds
-- ARGV[4]  the slot: for how many milliseconds a waiter counts as alive
-- ARGV[5]  "1" to queue when it is not one's turn, "0" not to
-- ARGV[6]  the rule by which the token counts, when one is asked for
--
-- Replies
--   1                acquired; the count is ARGV[3], the TTL is ARGV[2]; not in the queue
--   {token}          the same, with a token
--   0                the count asked for builds on a hold that is gone; nothing changed
--   {ttl, holder}    held by another, or free for somebody who is before us; ttl is the
--                    lock's for the next in turn and -1 for everybody else
--   error NOTLOCK    the key is a hash, but no such lock; nothing changed
--   error WRONGTYPE  the key is no hash; nothing changed
--
-- A second run of the same call changes nothing more, but that it is seen again.
--
-- Redisson: tryLockInnerAsync of RedissonFairLock. The deadline of a new waiter is that of
-- the last in the queue, or else the lock's TTL, plus the slot; whoever acquires takes its
-- slot off the deadlines of all that remain.

local owner, lease, count, slot = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])

local function grant()
  local granted = 1
  if ARGV[6] then
    granted = issue(KEYS[5], ARGV[6])
    if granted.err then
      return granted
    end
  end
  forget(owner, slot)
  redis.call('HSET', lock, owner, count)
  redis.call('PEXPIRE', lock, lease)
  return granted
end

local owners = redis.pcall('HLEN', lock)
if type(owners) == 'table' then
  return owners -- WRONGTYPE, as it is
end
if owners > 1 then
  return redis.error_reply('NOTLOCK the hash has ' .. owners .. ' fields, a fair lock has one')
end
if redis.call('HEXISTS', lock, owner) == 1 then
  return grant()
end
if count ~= '1' then
  return 0
end

local first = head(slot)
if owners == 0 and (not first or first == owner) then
  return grant()
end

local held = redis.call('HGETALL', lock)
local holder = held[1]
if holder and not (string.find(holder, ':%-?%d+$') and string.find(held[2], '^[1-9]%d*$')) then
  return redis.error_reply('NOTLOCK the hash is not one owner with a count')
end
if ARGV[5] == '1' then
  if not redis.call('LPOS', queue, owner) then
    local base = math.max(redis.call('PTTL', lock), 0)
    local last = redis.call('LINDEX', queue, -1)
    local behind = last and redis.call('ZSCORE', deadlines, last)
    if behind then
      base = math.max(tonumber(behind) - now, 0)
    end
    redis.call('RPUSH', queue, owner)
    redis.call('ZADD', deadlines, ms(now + base + slot), owner)
  end
  redis.call('ZADD', beats, ms(now), owner)
  first = first or owner
end
local ttl = -1
if first == owner then
  ttl = redis.call('PTTL', lock)
end
return {ttl, holder or first}
