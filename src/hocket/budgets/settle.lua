-- KEYS: totals, leases, amounts.  ARGV: id, usd, tokens.  What is not there any more was settled, or is long over.
local usd, tokens, charged = string.match(redis.call('HGET', KEYS[3], ARGV[1]) or '', '^(%d+):(%d+):(%d)$')
if not usd then return 0 end
redis.call('ZREM', KEYS[2], ARGV[1]); redis.call('HDEL', KEYS[3], ARGV[1])
for name, pair in pairs({usd = {usd, ARGV[2]}, tokens = {tokens, ARGV[3]}}) do
  if charged == '1' then
    redis.call('HINCRBY', KEYS[1], 'spent_' .. name, 0 - pair[1])
    redis.call('HINCRBY', KEYS[1], 'orphaned_' .. name, 0 - pair[1])
  else
    redis.call('HINCRBY', KEYS[1], 'held_' .. name, 0 - pair[1])
  end
  redis.call('HINCRBY', KEYS[1], 'spent_' .. name, pair[2])
end
return 1
