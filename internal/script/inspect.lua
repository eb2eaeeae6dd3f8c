-- inspect: a lock of any kind at one moment, with its queue. Reads only.
--
-- KEYS[1]  the lock, a hash
-- KEYS[2]  the counter of fencing tokens; this key and the next two are left out if they lie in
--          another slot of the cluster
-- KEYS[3]  the queue of a fair lock
-- KEYS[4]  the deadlines of that queue
-- ARGV[1]  what the timeout keys of all readers begin with; "" if they lie in another slot
-- ARGV[2]  how many holders, and how many waiters, the reply is to name, roughly
--
-- Reply: {now, ttl, token, mode, owners, queued, timed, waiters, holders}
--   now      the server's clock in milliseconds
--   ttl      of the lock, in milliseconds; -1 without expiry, -2 when it is free
--   token    the last token issued, as text; "0" if none
--   mode     "read" or "write" of a read-write lock, "exclusive" of any other, "" when it is free
--   owners   how many fields with a count the lock has
--   queued   how many owners are in the queue; -1 if that key is no list
--   timed    how many owners have a deadline; -1 if that key is no sorted set
--   waiters  {owner, deadline, owner, deadline, …}, the next first; a deadline is absolute
--            milliseconds as text, "" if there is none
--   holders  {field, count, {left, …}, noted, field, …}; left is for a reader what is left
--            of each of its holds, in milliseconds: -1 without expiry, -2 for a hold without a timeout
--            key. Holds beyond the first two thousand of the lock are left out. noted is as in status.
--   error NOTLOCK    the key is a hash, but no lock
--   error WRONGTYPE  the key is no hash

local tokens, queue, deadlines, prefix, most = KEYS[2], KEYS[3], KEYS[4], ARGV[1], tonumber(ARGV[2])

local shared = redis.pcall('HEXISTS', lock, 'mode')
if type(shared) == 'table' and not string.find(shared.err, '^WRONGTYPE') then
  return shared -- this user may not ask
end
shared = shared == 1
local found = shared and inspect() or not shared and held(lock)
if type(found) == 'table' and found.err then
  return found
end

-- holds returns what is left of the holds of a reader.
local function holds(field, count)
  local all = {}
  for hold = 1, tonumber(count) do
    budget = budget - 1
    if budget < 0 then
      return all
    end
    all[hold] = redis.call('PTTL', prefix .. ':' .. field .. ':rwlock_timeout:' .. hold)
  end
  settle(prefix .. ':' .. field .. ':rwlock_timeout:1')
  return all
end

local fields = redis.call('HLEN', lock)
local page = fields <= most and redis.call('HGETALL', lock) or redis.call('HSCAN', lock, '0', 'COUNT', most)[2]
local holders = {}
for i = 1, #page, 2 do
  local field, count = page[i], page[i + 1]
  if not shared or field ~= 'mode' then
    if not counted(count) then
      return notlock('the hash has a field that is no owner with a count')
    end
    local reads = shared and prefix ~= '' and not string.find(field, ':write$')
    holders[#holders + 1] = field
    holders[#holders + 1] = count
    holders[#holders + 1] = reads and holds(field, count) or {}
    holders[#holders + 1] = noted(lock, field)
  end
end

local queued = queue and redis.pcall('LLEN', queue) or 0
local timed = deadlines and redis.pcall('ZCARD', deadlines) or 0
for _, size in ipairs({queued, timed}) do
  if type(size) == 'table' and not string.find(size.err, '^WRONGTYPE') then
    return size -- this user may not ask, which says nothing of the keys
  end
end
queued = type(queued) == 'number' and queued or -1
timed = type(timed) == 'number' and timed or -1
local waiters = {}
if queued > 0 and not bulky(queue, 512 * queued + 16384) then
  local some = redis.call('LRANGE', queue, 0, most - 1)
  local scores = timed >= 0 and redis.call('ZMSCORE', deadlines, unpack(some)) or {}
  for i, owner in ipairs(some) do
    waiters[#waiters + 1] = owner
    waiters[#waiters + 1] = scores[i] or ''
  end
end

if fields == 0 then
  mode = ''
elseif not shared then
  mode = 'exclusive'
end
return {
  server_time(), lock_ttl(), tokens and last_token(tokens) or '0', mode,
  math.max(shared and fields - 1 or fields, 0), queued, timed, waiters, holders,
}
