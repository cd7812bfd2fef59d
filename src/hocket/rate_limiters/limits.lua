local state, log, members = KEYS[1], KEYS[2], KEYS[3]
local now = tonumber(ARGV[2])
if now == 0 then local t = redis.call('TIME'); now = t[1] * 1000000 + t[2] end

local NUMBERS = {'requests', 'tokens', 'input', 'output', 'window', 'burst', 'most', 'adaptive', 'learned1', 'learned2',
  'learned3', 'learned4', 'guess', 'last', 'floor', 'seq', 'used1', 'used2', 'factor', 'ceiling', 'cut', 'paused', 'refused',
  'mark', 'marked', 'mark2', 'marked2', 'head', 'probe', 'probe_until'}
local s = {}
local found = redis.call('HMGET', state, unpack(NUMBERS))
for i, name in ipairs(NUMBERS) do s[name] = tonumber(found[i] or 0) end

local function save()
  local flat = {}
  for i, name in ipairs(NUMBERS) do flat[#flat + 1] = name; flat[#flat + 1] = string.format('%.17g', s[name]) end
  redis.call('HSET', state, unpack(flat))
  local ttl = math.ceil(math.max(s.last - now, s.paused - now, 0) / 1000 + 600000 + s.window / 500)
  redis.call('PEXPIRE', state, ttl); redis.call('PEXPIRE', log, ttl); redis.call('PEXPIRE', members, ttl)
end

local function effective(given, learned)
  if given > 0 and learned > 0 then return math.min(given, learned) end
  return math.max(given, learned)
end
local function limits()
  return effective(s.requests, s.learned1), effective(s.tokens, s.learned2), effective(s.input, s.learned3),
    effective(s.output, s.learned4)
end
local function entry(seq)
  local text = redis.call('HGET', log, seq)
  if not text then return nil end
  local at, read, written = string.match(text, '^(%d+):(%d+):(%d+)$')
  return tonumber(at), tonumber(read), tonumber(written)
end
local function put(seq, at, read, written)
  redis.call('HSET', log, seq, string.format('%.0f:%.0f:%.0f', at, read, written))
end

local function pace(at, requests, step)
  if requests == 0 then return at end
  if s.burst == 1 then return math.max(at, s.last + step) end
  local burst = math.min(s.burst, math.max(1, math.floor(requests)))
  local most = math.max(1, math.floor(math.max(requests, effective(s.requests, s.learned1))))
  local before = entry(s.seq - burst + 1)
  if before then at = math.max(at, before + burst * step) end
  before = entry(s.seq - most + 1)
  if before then at = math.max(at, before + s.window) end
  return at
end

-- Returns wait, seq, back, and whether it is the probe; seq 0: not granted, and back says why.
local function reserve(read, written, held, horizon)
  if s.probe > 0 then
    if s.probe_until > now then return s.probe_until - now, 0, 3000000, 0 end
    s.probe = -1
  end
  local requests, tokens, inputs, outputs = limits()
  requests = requests * s.factor
  local step = requests > 0 and s.window / requests or 0
  local paced = math.ceil(pace(math.max(now, s.last, s.floor, s.paused), requests, step))
  local at, used1, used2, head, gone = paced, s.used1, s.used2, s.head, nil
  local function cap(limit, own) return limit > 0 and math.max(limit * s.factor, own) or math.huge end
  local cap0, cap1, cap2 = cap(tokens, read + written), cap(inputs, read), cap(outputs, written)
  while head <= s.seq do
    local t, n1, n2 = entry(head)
    if t then
      local w1, w2 = used1 + read, used2 + written
      local over = w1 + w2 > cap0 or w1 > cap1 or w2 > cap2
      if t + s.window > at then
        if not over then break end
        at = t + s.window
      end
      gone, used1, used2 = t + s.window, used1 - n1, used2 - n2
    end
    head = head + 1
  end
  local ahead = at - now
  if ahead > horizon then
    if at > paced then return ahead - horizon, 0, 1000000, 0 end
    if held > 0 and not (step > 0 and (held + 1) * step <= horizon) then return ahead - horizon, 0, 0, 0 end
  end
  while s.head < head do redis.call('HDEL', log, s.head); s.head = s.head + 1 end
  if gone then s.floor = gone end
  local back = at - s.last
  s.last, s.seq, s.used1, s.used2 = at, s.seq + 1, used1 + read, used2 + written
  local counts = s.tokens + s.input + s.output + s.learned2 + s.learned3 + s.learned4
  if s.burst > 1 or read + written > 0 or counts > 0 then put(s.seq, at, read, written) end
  local most = s.guess == 1 and MOST or 1
  if s.factor < most then
    local growth = FAST
    if s.factor >= NEAR * s.ceiling then growth = math.min(FAST, SLOW * (1 + (now - s.cut) / PATIENCE)) end
    s.factor = math.min(most, s.factor * (1 + growth * math.min(back / 1000000, 1)))
  end
  if now - s.mark2 > s.window then
    s.mark, s.marked, s.mark2, s.marked2 = s.mark2, s.marked2, now, s.seq - 1 - s.refused
    if now - s.mark > 2 * s.window then s.mark, s.marked = now, s.seq - 1 - s.refused end
  end
  if s.probe ~= -1 then return ahead, s.seq, back, 0 end
  s.probe, s.probe_until = s.seq, at + PROBE
  return ahead, s.seq, back, 1
end

local function finish(seq, read, written, back)
  local at, n1, n2 = entry(seq)
  if at then
    s.used1, s.used2 = s.used1 + read - n1, s.used2 + written - n2
    put(seq, at, read, written)
  end
  if seq == s.probe then s.probe = back == 'used' and 0 or -1 end
  if back ~= 'used' and seq == s.seq then
    redis.call('HDEL', log, seq)
    s.last, s.seq = s.last - tonumber(back), s.seq - 1
    s.head = math.min(s.head, s.seq + 1)
  end
end

-- Returns the requests under way in other processes, and how many processes there are with this one.
local function count(me)
  local busy, alive, all = 0, 1, redis.call('HGETALL', members)
  for i = 1, #all, 2 do
    local till, taken = string.match(all[i + 1], '^(%d+):(%d+)$')
    if tonumber(till) <= now then redis.call('HDEL', members, all[i])
    elseif all[i] ~= me then busy, alive = busy + tonumber(taken), alive + 1 end
  end
  return busy, alive
end

local what = ARGV[1]
if what == 'configure' then
  local before = {}
  if found[1] then for i = 1, 8 do before[i] = string.format('%.17g', s[NUMBERS[i]]) end end
  for i = 1, 8 do s[NUMBERS[i]] = tonumber(ARGV[i + 2]) end
  if not found[1] then s.factor, s.ceiling, s.head = 1, 1, 1 end
  if s.guess == 1 and s.requests + s.tokens + s.input + s.output > 0 then
    s.guess, s.learned1, s.factor = 0, 0, math.min(s.factor, 1)
  end
  save()
  return before
end
if not found[1] then return false end
if what == 'exchange' then
  -- member, held, in flight, horizon, reports, number of ends, seq, input, output, back..., input, output...
  local me, held, flying, horizon, reports = ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6]), ARGV[7] == '1'
  local i = 9
  for _ = 1, tonumber(ARGV[8]) do
    finish(tonumber(ARGV[i]), tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2]), ARGV[i + 3])
    i = i + 4
  end
  local busy, alive, granted, out = 0, 0, 0, {0}
  if reports then busy, alive = count(me) end
  while i <= #ARGV do
    if s.most > 0 and granted >= s.most - busy - flying then
      out[#out + 1] = SOON; out[#out + 1] = 0; out[#out + 1] = 2000000; out[#out + 1] = 0
      break
    end
    local wait, seq, back, probe = reserve(tonumber(ARGV[i]), tonumber(ARGV[i + 1]), held, horizon)
    out[#out + 1] = wait; out[#out + 1] = seq; out[#out + 1] = back; out[#out + 1] = probe
    if seq == 0 then break end
    granted = granted + 1
    if wait > 0 then held = held + 1 end
    i = i + 2
  end
  if reports then redis.call('HSET', members, me, string.format('%.0f:%d', now + LEASE, flying + granted)) end
  out[1] = alive
  save()
  return out
end
if what == 'read' then
  local requests, tokens, inputs, outputs = limits()
  local used1, used2, head = s.used1, s.used2, s.head
  while head <= s.seq do
    local t, n1, n2 = entry(head)
    if t and t + s.window > now then break end
    if t then used1, used2 = used1 - n1, used2 - n2 end
    head = head + 1
  end
  local busy, alive = count('')
  return string.format('[%.17g,%.17g,%.17g,%.17g,%.17g,%.17g,%d,%d,%d,%d]', requests, tokens, inputs, outputs, s.factor,
    math.max(0, s.paused - now) / 1000000, used1, used2, math.max(alive - 1, 1), busy)
end
if what == 'learn' then
  local any = false
  local found_here = {tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])}
  for i, limit in ipairs(found_here) do if limit > 0 then s['learned' .. i] = limit; any = true end end
  if any and s.guess == 1 then s.guess, s.factor, s.learned1 = 0, math.min(s.factor, 1), found_here[1] end
  if ARGV[8] == '1' then s.probe = -1 end
end
if what == 'adopt' then
  if tonumber(ARGV[3]) > 0 then s.learned1, s.guess = tonumber(ARGV[3]), 1 end
  s.ceiling, s.factor = s.factor, tonumber(ARGV[4])
else
  s.paused = math.max(s.paused, now + tonumber(ARGV[3]))
end
local refusal = 1
if what == 'slow_down' then
  s.refused = s.refused + 1
  if s.adaptive == 1 and now - s.cut > CUT_PAUSE then
    s.cut = now
    local requests, tokens, inputs, outputs = limits()
    local limited, through = requests + tokens + inputs + outputs > 0, s.seq - s.refused
    refusal = string.format('[%d,%d,%.17g,%.17g,%.17g,%.17g,%d,%d]', limited and 1 or 0, s.guess, requests,
      s.window / 1000000, s.factor, (now - s.mark) / 1000000, through - s.marked, through - s.marked2)
  end
end
save()
return refusal
