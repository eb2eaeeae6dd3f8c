-- multi_acquire: take several mutexes, all of them or none.
--
-- KEYS     the locks, each a hash as in acquire
-- ARGV[1]  lease in milliseconds
-- ARGV[2+] the owner of each lock in turn, "clientUUID:number", a name that
--          nobody has used before
--
-- Replies
--   1                       all acquired; each count is 1, each TTL is at least ARGV[1]
--   {index, ttl, holder}    the lock of that index, counted from 1, is the first that
--                           another holds; its TTL in milliseconds (-1: none); behind
--                           them the holder's note, if it has one; nothing changed
--   error NOTLOCK           a key is a hash, but no mutex; nothing changed
--   error WRONGTYPE         a key is no hash; nothing changed
--
-- Nothing is written before all are checked. As in acquire, a second run of the
-- same call changes nothing more.
--
-- Redisson: no counterpart; RedissonMultiLock takes one lock after the other. The state
-- left behind is the same.

for i = 1, #KEYS do
  local found = held(KEYS[i], ARGV[i + 1])
  if type(found) == 'table' then
    return found.err and found or {i, found[1], found[2], note_of(KEYS[i], found[2])}
  end
end

for i = 1, #KEYS do
  if redis.call('HSET', KEYS[i], ARGV[i + 1], 1) == 1 then
    begin(KEYS[i], ARGV[1])
  else
    raise(KEYS[i], ARGV[1])
  end
end
return 1
