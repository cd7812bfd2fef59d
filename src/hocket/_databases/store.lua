-- The operations of hocket._databases.store on Redis, in one go. ARGV has one after another: its name, then what it needs.
-- A log is a list, a value and a lease are texts; times to live are in milliseconds. "" for a lease: none is needed.

local results = {}
local at = 1

local function take(count)
    local first = at
    at = at + count
    return unpack(ARGV, first, at - 1)
end

local function has(lease, owner)
    return lease == '' or redis.call('GET', lease) == owner
end

local steps = {}

function steps.append()
    local log, ttl, place, lease, owner, count = take(6)
    local first, last = at, at + count - 1
    at = last + 1
    if not has(lease, owner) then return 0 end
    if place ~= '' then
        local there = redis.call('LLEN', log)
        if there < tonumber(place) then return 0 end
        first = first + there - place
    end
    while first <= last do
        local stop = math.min(first + 999, last)
        redis.call('RPUSH', log, unpack(ARGV, first, stop))
        first = stop + 1
    end
    if ttl ~= '' then redis.call('PEXPIRE', log, ttl) end
    return 1
end

function steps.read()
    local log, after, most = take(3)
    return redis.call('LRANGE', log, after, after + most - 1)
end

function steps.get()
    return redis.call('GET', take(1))
end

function steps.put()
    local key, value, ttl, lease, owner = take(5)
    if not has(lease, owner) then return 0 end
    redis.call('SET', key, value, 'PX', ttl)
    return 1
end

function steps.claim()
    local lease, owner, ttl = take(3)
    if redis.call('SET', lease, owner, 'NX', 'PX', ttl) then return 1 end
    if not has(lease, owner) then return 0 end
    return redis.call('PEXPIRE', lease, ttl)
end

function steps.renew()
    local lease, owner, ttl = take(3)
    if not has(lease, owner) then return 0 end
    return redis.call('PEXPIRE', lease, ttl)
end

function steps.release()
    local lease, owner = take(2)
    return has(lease, owner) and redis.call('DEL', lease) or 0
end

while at <= #ARGV do
    table.insert(results, steps[take(1)]())
end
return results
