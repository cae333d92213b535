-- Arguments: file with the body, token or "-", number of the first body or "-" for equal bodies.
local mark = "@@@@@@@@@@@@"
local before, after, number

function init(args)
  local file = assert(io.open(args[1], "rb"))
  local body = file:read("*a")
  file:close()
  local headers = { ["Content-Type"] = "application/json" }
  if args[2] ~= "-" then headers["Authorization"] = "Bearer " .. args[2] end
  local whole = wrk.format("POST", "/v1/chat/completions", headers, body)
  local from, to = whole:find(mark, 1, true)
  before, after = whole:sub(1, from - 1), whole:sub(to + 1)
  number = tonumber(args[3])
  if not number then
    local equal = before .. string.rep("0", #mark) .. after
    request = function() return equal end
  end
end

function request()
  number = number + 1
  return before .. string.format("%012d", number) .. after
end

function done(summary, latency, requests)
  local faults = summary.errors
  io.write(string.format('wrk {"calls":%d,"seconds":%f,"bytes":%d,"p50":%f,"p99":%f,"failed":%d}\n',
    summary.requests, summary.duration / 1e6, summary.bytes, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3,
    faults.connect + faults.read + faults.write + faults.status + faults.timeout))
end
