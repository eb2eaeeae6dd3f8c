-- move: give the one hold of an owner to another owner.
--
-- KEYS[1]  the lock: a hash with a field for each owner
-- KEYS[2]  of a read hold: the timeout key of the owner that has it
-- KEYS[3]  of a read hold: the timeout key of the new owner
-- ARGV[1]  the field of the owner that has it
-- ARGV[2]  the field of the new owner
-- ARGV[3]  lease in milliseconds
--
-- Replies
--   n > 0            the new owner has it for up to n milliseconds, at least ARGV[3], and the other one has nothing
--   0                neither of them holds the lock; nothing changed
--   error WRONGTYPE  the key is no hash; nothing changed
--
-- A second run finds the field of the new owner, and changes nothing more. So the script serves whoever calls it
-- first, and all who know the former owner besides are refused. The count of the new owner is one, whatever
-- requests of the former one had made of theirs. A writer's read field goes with it. Its timeout keys expire. The
-- note of the former owner goes, with what others ask of it.
--
-- Redisson has no such thing. It sees a lock that another thread holds, before and after.

local lock, from, to, lease = KEYS[1], ARGV[1], ARGV[2], ARGV[3]

local here = redis.pcall('HEXISTS', lock, to)
if type(here) == 'table' then
  return here -- WRONGTYPE, as it is
end
local over = KEYS[3] and redis.call('HGET', lock, 'mode') == 'write' -- what reads is dead by then
if over or here == 0 and redis.call('HEXISTS', lock, from) == 0 then
  return gone(lock, '') or 0
end
confirm(lock, lease)
if KEYS[3] then
  local refused = keep_hold(KEYS[3], ms(math.max(redis.call('PTTL', KEYS[2]), tonumber(lease))))
  if refused then
    return refused
  end
  redis.call('UNLINK', KEYS[2])
end
if here == 0 then
  redis.call('HSET', lock, to, '1')
end
redis.pcall('UNLINK', note_key(lock, from))
redis.call('HDEL', lock, from, (string.gsub(from, ':write$', ''))) -- with what a late request let a writer read
local left = redis.call('PTTL', lock)
if KEYS[3] then
  left = redis.call('PTTL', KEYS[3])
end
return math.max(left, tonumber(lease))
