-- ran: was a job run for a time before? With a token, note that it is run now.
--
-- KEYS[1]  the times that were run: a sorted set of the last thousand. The score of a time is the
--          token of its run, or of an attempt before it whose note got no answer
-- ARGV[1]  the time, in milliseconds
-- ARGV[2]  the token of the run that is to begin; without it nothing changes
-- ARGV[3]  for how long the times are kept, in milliseconds
--
-- Replies
--   0                it was not run before; with a token it is noted
--   1                it was run before, by a run with another token; nothing changed
--   error WRONGTYPE  the key is no sorted set; nothing changed
--
-- Redisson does not know the key. A second run of the same call finds its own token.

local ran = redis.pcall('ZSCORE', KEYS[1], ARGV[1])
if type(ran) == 'table' then
  return ran
end
if ran and tonumber(ran) ~= tonumber(ARGV[2] or '') then
  return 1
end
if ARGV[2] then
  redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1])
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
  local oldest = redis.call('ZREVRANGE', KEYS[1], 1000, 1009)
  if #oldest > 0 then
    redis.call('ZREM', KEYS[1], unpack(oldest))
  end
end
return 0
