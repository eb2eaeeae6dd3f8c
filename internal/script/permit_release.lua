-- permit_release: put one permit back.
--
-- KEYS[1]  the counter of available permits
-- KEYS[2]  the permits in use, a sorted set
-- ARGV[1]  the id of the permit, sixteen bytes. Before Redisson 3.17.0 their text was the id
-- ARGV[2]  the channel on which waiters listen
-- ARGV[3]  the plan that announces permits
--
-- Replies
--   n >= 0           put back; n subscribers were told
--   -1               the id did not have a permit, or its lease was over. In the second case the
--                    permit was put back
--   -2               put back, but the server refused to publish (an ACL without the channel)
--   error NOTLOCK    the counter is none; nothing changed
--   error WRONGTYPE  one of the keys is of another type; nothing changed
--
-- Announces by ARGV[3] on ARGV[2] how many are available. If the counter is gone, so are its permits.
--
-- Redisson: tryReleaseAsync of RedissonPermitExpirableSemaphore, which makes the counter again.

local counter, set, id = KEYS[1], KEYS[2], ARGV[1]

local permits, refused = count(counter)
if refused then
  return refused
end
local score = redis.pcall('ZSCORE', set, id)
if not score then
  id = string.gsub(id, '.', function(byte) return string.format('%02x', string.byte(byte)) end)
  score = redis.call('ZSCORE', set, id)
end
if type(score) ~= 'string' then
  return score or gone(set, id, 'ZREM') or -1
end
if not permits then
  redis.call('ZREM', set, id)
  return -1
end
local told = announce_count(ARGV[2], ARGV[3], give(counter, set, {id}, score))
return tonumber(score) > server_time() and told or -1
