-- Generates the load of `npm run bench -- http` with wrk: each request registers a new token, or the next token of a pool.
-- Usage: wrk --threads 1 --script load.lua URL -- REQUEST-FILE (new SEED | pool POOL-FILE)
-- The request is sent as in its file, with {token} replaced. One thread only, because each thread runs its own script.

local function contents(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read("*a")
  file:close()
  return text
end

-- Unique tokens of 64 hexadecimal digits: a random prefix, so that index inserts are not sequential, and a counter.
local function newTokens(seed)
  math.randomseed(seed)
  local run = string.format("%08x%08x", math.random(0, 0xffffffff), math.random(0, 0xffffffff))
  local number = 0
  return function()
    number = number + 1
    local a, b, c, d = math.random(0, 0xffffffff), math.random(0, 0xffffffff), math.random(0, 0xffffffff), math.random(0, 0xffffffff)
    return string.format("%08x%08x%08x%08x%s%016x", a, b, c, d, run, number)
  end
end

local function pooledTokens(path)
  local pool = {}
  for token in contents(path):gmatch("%x+") do
    pool[#pool + 1] = token
  end
  local number = 0
  return function()
    number = number % #pool + 1
    return pool[number]
  end
end

local template
local nextToken

function init(args)
  template = contents(args[1])
  nextToken = args[2] == "new" and newTokens(tonumber(args[3])) or pooledTokens(args[3])
end

function request()
  return (template:gsub("{token}", nextToken()))
end

-- One line for the program that started wrk; times are microseconds.
function done(summary, latency)
  local errors = summary.errors
  io.write(
    string.format(
      '{"requests":%d,"duration":%d,"p50":%d,"p99":%d,"max":%d,"rejected":%d,"broken":%d}\n',
      summary.requests,
      summary.duration,
      latency:percentile(50),
      latency:percentile(99),
      latency.max,
      errors.status,
      errors.connect + errors.read + errors.write + errors.timeout
    )
  )
end
