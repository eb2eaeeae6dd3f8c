-- sessions_stalled: which clients' heartbeats are overdue, page by page. Reads only.
--
-- KEYS[1]  the sorted set of clients: when the next heartbeat of each is due
-- ARGV[1]  where the page begins: a score, or "(score" for those behind it
-- ARGV[2]  how many clients of exactly that score to skip
-- ARGV[3]  how many clients the page may have
-- ARGV[4]  the longest name of a client, in bytes
--
-- Reply: {now, all, skipped, score, same, client, due, client, due, …}, the one that is overdue
-- for longest first
--   now      the server's clock in milliseconds
--   all      how many are overdue
--   skipped  how many were left out because their name is too long
--   score    where the next page begins, with
--   same     how many to skip there; score is "" after the last page
--   due      in absolute milliseconds, as text, as it stands in the set
--
-- A page costs the same wherever it begins, because only clients of one score are skipped.
--
-- Redisson: has nothing like it.

local page = redis.call('ZRANGEBYSCORE', KEYS[1], ARGV[1], '(' .. ms(now), 'WITHSCORES', 'LIMIT', ARGV[2], ARGV[3])
local last, same = '', 0
if #page == 2 * tonumber(ARGV[3]) then
  last = page[#page]
  for i = #page, 2, -2 do
    if page[i] ~= last then
      break
    end
    same = same + 1
  end
  if last == ARGV[1] then
    same = same + ARGV[2]
  end
end
local reply = {now, redis.call('ZCOUNT', KEYS[1], '-inf', '(' .. ms(now)), 0, last, same}
for i = 1, #page, 2 do
  if #page[i] > tonumber(ARGV[4]) then
    reply[3] = reply[3] + 1
  else
    reply[#reply + 1] = page[i]
    reply[#reply + 1] = page[i + 1]
  end
end
return reply
