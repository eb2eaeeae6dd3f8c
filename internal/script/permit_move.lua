-- permit_move: give a permit to another id.
--
-- KEYS[1]  the counter of available permits
-- KEYS[2]  the permits in use
-- ARGV[1]  the id that has it
-- ARGV[2]  the new id
-- ARGV[3]  lease in milliseconds
--
-- Replies
--   n > 0            the new id has it for n milliseconds, at least ARGV[3], and the other one has nothing
--   0                neither of them has it, or its lease was over, or the counter is gone; nothing changed
--   error WRONGTYPE  the permits in use are of another type; nothing changed
--
-- A second run finds the new id, and changes nothing more. See move.
--
-- Redisson has no such thing. It sees a permit in use, before and after.

local counter, set, from, to, lease = KEYS[1], KEYS[2], ARGV[1], ARGV[2], ARGV[3]

local score = redis.pcall('ZSCORE', set, to)
if type(score) == 'table' then
  return score -- WRONGTYPE, as it is
end
score = score or redis.call('ZSCORE', set, from)
local time = server_time()
if not score or tonumber(score) <= time or redis.call('EXISTS', counter) == 0 then
  return gone(set, '', 'ZREM') or 0
end
-- This removes nothing. After a write that needs no memory, a full server refuses no other.
redis.call('ZREM', set, '')
local over = math.max(time + lease, tonumber(score))
redis.call('ZADD', set, ms(over), to)
redis.call('ZREM', set, from)
redis.pcall('UNLINK', note_key(counter, from))
keep(counter, set, lease)
return over - time
