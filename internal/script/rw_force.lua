-- rw_force: free a read-write lock, whoever holds it, or take it from one owner.
--
-- KEYS[1]  the lock: a hash with the field "mode" and one field for each owner
-- ARGV[1]  what the timeout keys of all readers begin with
-- ARGV[2]  the channel on which waiters listen
-- ARGV[3]  the plan when readers held it
-- ARGV[4]  the plan when a writer held it
-- ARGV[5]  the only owner from whom to take it; absent: from everybody
--
-- Replies
--   1                it was held, or held by that owner, and is not any more
--   0                it was not; nothing changed
--   error NOTLOCK    the key is a hash, but no read-write lock, or nobody can tell without
--                    an owner's name that it is one; nothing changed
--   error WRONGTYPE  the key is no hash; nothing changed
--
-- Announces ARGV[3] or ARGV[4] on ARGV[2] when others may enter. Timeout keys of readers
-- beyond the first thousands are left to expire.
--
-- Redisson: forceUnlockAsync of RedissonReadLock and RedissonWriteLock, which leave the
-- timeout keys of the readers behind.

local prefix, only = ARGV[1], ARGV[5]

if not mode then
  return 0
end

local fields, wrote = some_fields(only), false
if #fields == 0 then
  return 0
end
for i = 1, #fields, 2 do
  local refusal = not only and fields[i] ~= 'mode' and maybe_data(lock_ttl(), fields[i])
  if refusal then
    return refusal
  end
  wrote = wrote or mode == 'write' and string.find(fields[i], ':write$')
end

for i = 1, #fields, 2 do
  for hold = 1, tonumber(fields[i + 1]) or 0 do
    budget = budget - 1
    if budget < 0 then
      break
    end
    redis.call('DEL', prefix .. ':' .. fields[i] .. ':rwlock_timeout:' .. hold)
  end
end
if not only or not find_living(prefix, only, only .. ':write') then
  redis.call('UNLINK', lock)
  announce(ARGV[2], mode == 'read' and ARGV[3] or ARGV[4])
  return 1
end
if wrote then
  redis.call('HSET', lock, 'mode', 'read')
end
redis.call('HDEL', lock, only, only .. ':write')
if wrote then
  announce(ARGV[2], ARGV[4])
end
return 1
