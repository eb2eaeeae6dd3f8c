-- acquire: take a mutex, or take it once more under the same owner.
--
-- KEYS[1]  the lock: a hash with one field, the owner, whose value is the count
-- KEYS[2]  the counter of fencing tokens, when a token is asked for
-- ARGV[1]  owner, "clientUUID:number"
-- ARGV[2]  lease in milliseconds
-- ARGV[3]  the owner's count after this call: 1, or one more than it holds
-- ARGV[4]  the rule by which the token counts, when one is asked for
-- ARGV[5]  how many tokens are issued at once
--
-- Replies
--   1                acquired; the count is ARGV[3], the TTL is at least ARGV[2]
--   {token}          the same, with a token: the last one of a block
--   0                the count asked for builds on a hold that is gone; nothing changed
--   {ttl, holder}    held by another; its TTL in milliseconds (-1: none); behind them its
--                    note, if it has one; nothing changed
--   error NOTLOCK    the key is a hash, but no mutex, or the counter of tokens cannot
--                    count; nothing changed
--   error WRONGTYPE  the key is no hash; nothing changed
--
-- The count is set, not added, so that a second run of the same call changes
-- nothing more: this is how a lost reply is resolved.
--
-- Redisson: tryLockInnerAsync of RedissonLock and RedissonFencedLock, which add
-- one by HINCRBY and set the TTL, also to less than is left. Nothing but owners may ever
-- be put into the hash.

local lock, owner, lease, count = KEYS[1], ARGV[1], ARGV[2], ARGV[3]

local found = held(lock, owner)
if type(found) == 'table' then
  found[3] = found[2] and note_of(lock, found[2])
  return found
end
if not found and count ~= '1' then
  return gone(lock, owner) or 0
end

local granted, refused = issue(KEYS[2], ARGV[4], ARGV[5])
if refused then
  return refused
end
redis.call('HSET', lock, owner, count)
if found then
  raise(lock, lease)
else
  begin(lock, lease)
end
return granted
