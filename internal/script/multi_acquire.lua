-- multi_acquire: take several mutexes, all of them or none.
--
-- KEYS     the locks, each a hash as in acquire
-- ARGV[1]  lease in milliseconds
-- ARGV[2+] the owner of each lock in turn, "clientUUID:number", of whom nobody has used
--          the name before
--
-- Replies
--   1                       all acquired; each count is 1, each TTL is ARGV[1]
--   {index, ttl, holder}    the lock of that index, counted from 1, is the first that
--                           another holds; its TTL in milliseconds (-1: none); nothing
--                           changed
--   error NOTLOCK           a key is a hash, but no mutex; nothing changed
--   error WRONGTYPE         a key is no hash; nothing changed
--
-- Nothing is written before all have been looked at. As in acquire, a second run of the
-- same call changes nothing more.
--
-- Redisson: no counterpart; RedissonMultiLock takes one lock after the other. The state
-- left behind is the same.

local lease = ARGV[1]

for i, lock in ipairs(KEYS) do
  local owners = redis.pcall('HLEN', lock)
  if type(owners) == 'table' then
    return owners -- WRONGTYPE, as it is
  end
  if owners > 1 then
    return redis.error_reply('NOTLOCK the hash has ' .. owners .. ' fields, a mutex has one')
  end
  if owners == 1 and redis.call('HEXISTS', lock, ARGV[i + 1]) == 0 then
    local held = redis.call('HGETALL', lock)
    if not string.find(held[1], ':%-?%d+$') or not string.find(held[2], '^[1-9]%d*$') then
      return redis.error_reply('NOTLOCK the hash is not one owner with a count')
    end
    return {i, redis.call('PTTL', lock), held[1]}
  end
end

for i = 1, #KEYS do
  redis.call('HSET', KEYS[i], ARGV[i + 1], 1)
  redis.call('PEXPIRE', KEYS[i], lease)
end
return 1
