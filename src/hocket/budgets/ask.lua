-- KEYS: limit (hash usd, tokens), totals (hash), leases (zset id -> until), amounts (hash id -> usd:tokens:charged)
-- ARGV: 1 start, 2 end (-1: for ever), 3 id, 4 usd, 5 tokens, 6 limit usd, 7 limit tokens (-1: none), 8 is new,
--       9 lease, 10 kept, 11 is forced; times in milliseconds
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
if ARGV[2] ~= '-1' and (now < tonumber(ARGV[1]) or now >= tonumber(ARGV[2])) then return {2, now} end

local kept = redis.call('HMGET', KEYS[1], 'usd', 'tokens')
local limit, old = {ARGV[6], ARGV[7]}, {'', ''}
if kept[1] and (kept[1] ~= ARGV[6] or kept[2] ~= ARGV[7]) then
  if ARGV[8] == '1' then old = {kept[1], kept[2]} else limit = {kept[1], kept[2]} end
end
if ARGV[3] ~= '' and (not kept[1] or old[1] ~= '') then redis.call('HSET', KEYS[1], 'usd', limit[1], 'tokens', limit[2]) end

for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', now, 'LIMIT', 0, 1000)) do
  local usd, tokens, charged = string.match(redis.call('HGET', KEYS[4], id) or '0:0:1', '^(%d+):(%d+):(%d)$')
  if charged == '1' then
    redis.call('ZREM', KEYS[3], id); redis.call('HDEL', KEYS[4], id)
  else
    for name, amount in pairs({usd = usd, tokens = tokens}) do
      redis.call('HINCRBY', KEYS[2], 'held_' .. name, 0 - amount)
      redis.call('HINCRBY', KEYS[2], 'spent_' .. name, amount)
      redis.call('HINCRBY', KEYS[2], 'orphaned_' .. name, amount)
    end
    redis.call('HSET', KEYS[4], id, usd .. ':' .. tokens .. ':1')
    redis.call('ZADD', KEYS[3], now + ARGV[10], id)
  end
end

local sums = redis.call(
  'HMGET', KEYS[2], 'spent_usd', 'spent_tokens', 'held_usd', 'held_tokens', 'orphaned_usd', 'orphaned_tokens'
)
for i = 1, 6 do sums[i] = sums[i] or '0' end
local granted = 1
local is_held = redis.call('HEXISTS', KEYS[4], ARGV[3]) == 1
for i = 1, 2 do
  local is_over = limit[i] ~= '-1' and sums[i] + sums[i + 2] + ARGV[i + 3] > tonumber(limit[i])
  if is_over and not is_held and ARGV[11] ~= '1' then granted = 0 end
end
if granted == 1 and ARGV[3] ~= '' and not is_held then
  redis.call('ZADD', KEYS[3], now + ARGV[9], ARGV[3])
  redis.call('HSET', KEYS[4], ARGV[3], ARGV[4] .. ':' .. ARGV[5] .. ':0')
  redis.call('HINCRBY', KEYS[2], 'held_usd', ARGV[4]); redis.call('HINCRBY', KEYS[2], 'held_tokens', ARGV[5])
  if ARGV[2] ~= '-1' then
    local goes = ARGV[2] + ARGV[9] + ARGV[10]
    for i = 2, 4 do redis.call('PEXPIREAT', KEYS[i], goes) end
  end
end
return {granted, now, limit[1], limit[2], old[1], old[2], unpack(sums)}
