import { cameBackEmpty } from './judge.ts'

// The same as document.ts and judge.ts, held together by a test. No arrays and no nulls: Lua writes an empty array as an object.
const shared = `
local function instant()
  local t = redis.call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000)
end
local function read()
  local raw = redis.call('GET', KEYS[1])
  if raw then return cjson.decode(raw), true end
  return { rev = 0, hold = '', layers = {}, tripped = {} }, false
end
local function is_out(layer)
  return layer.stage == 'shadow' or layer.stage == 'canary' or layer.stage == 'native'
end
local function latch(doc, changes)
  for name, layer in pairs(doc.layers) do
    local trip = doc.tripped[layer.rolloutId]
    if trip and is_out(layer) then
      local from = cjson.decode(cjson.encode(layer))
      layer.stage = 'rolled-back'
      layer.weights = {}
      layer.held = false
      layer.reason = trip.reason
      layer.actor = trip.actor
      layer.startedAt = trip.at
      changes[name] = { from = from, to = layer }
    end
  end
  return changes
end
local function keep(kind, doc, at, changes, record)
  local text = cjson.encode(doc)
  redis.call('SET', KEYS[1], text)
  redis.call('XADD', KEYS[2], 'MAXLEN', '~', 2000, '*', 'at', at, 'rev', doc.rev, 'kind', kind, 'layers', changes, 'record', record)
  -- Only a hint, which some access lists forbid.
  redis.pcall('PUBLISH', KEYS[1] .. ':changed', doc.rev)
  return text
end
`

/** Of {@link transitionScript}. */
export const transitionLua = `${shared}
local doc = read()
if tonumber(ARGV[2]) ~= tonumber(redis.call('GET', KEYS[3]) or '0') then return { 'fenced' } end
if tonumber(ARGV[1]) ~= doc.rev then return { 'stale' } end
local layers = cjson.decode(ARGV[3])
local moving = 0
for name, layer in pairs(layers) do
  if doc.layers[name] and layer.gen < doc.layers[name].gen then return { 'stale' } end
end
for _, layer in pairs(layers) do
  if is_out(layer) and doc.tripped[layer.rolloutId] then return { 'tripped' } end
  if layer.stage == 'shadow' or layer.stage == 'canary' then moving = moving + 1 end
end
if moving > 1 then return { 'second-layer' } end
local at = instant()
for _, layer in pairs(layers) do if layer.startedAt == 0 then layer.startedAt = at end end
doc.rev = doc.rev + 1
doc.layers = layers
if ARGV[4] == '1' then doc.hold = ARGV[5] end
return { 'done', keep('transition', doc, at, ARGV[6], ARGV[7]) }`

/** Of {@link noteScript}. */
export const noteLua = `${shared}
local doc = read()
local notes, fresh = doc.notes or {}, false
for name, text in pairs(cjson.decode(ARGV[1])) do
  if text == '' then
    fresh = fresh or notes[name] ~= nil
    notes[name] = nil
  elseif notes[name] ~= text and not (ARGV[2] == '1' and notes[name]) then
    fresh = true
    notes[name] = text
  end
end
if not fresh then return { 'known', cjson.encode(doc) } end
doc.rev = doc.rev + 1
doc.notes = notes
return { 'done', keep('note', doc, instant(), '{}', ARGV[3]) }`

/** Of {@link tripScript}. */
export const tripLua = `${shared}
local doc = read()
local fresh = false
for id, trip in pairs(cjson.decode(ARGV[1])) do
  if not doc.tripped[id] then
    doc.tripped[id] = trip
    fresh = true
  end
end
if not fresh then return { 'known', cjson.encode(doc) } end
doc.rev = doc.rev + 1
local changes = latch(doc, {})
return { 'done', keep('trip', doc, instant(), cjson.encode(changes), ARGV[2]) }`

/** Of {@link restoreScript}. */
export const restoreLua = `${shared}
local doc, there = read()
local known = cjson.decode(ARGV[1])
local ahead, behind = false, false
for name, layer in pairs(known.layers) do
  local gen = doc.layers[name] and doc.layers[name].gen or 0
  ahead = ahead or layer.gen > gen
  behind = behind or layer.gen < gen
end
if not (doc.rev < known.rev or (ahead and not behind)) then return { 'known', cjson.encode(doc) } end
if known.rev <= doc.rev then known.rev = doc.rev + 1 end
if not there then
  known.rev = known.rev + 1
  if known.hold == '' then known.hold = '${cameBackEmpty}' end
end
for id, trip in pairs(doc.tripped) do if not known.tripped[id] then known.tripped[id] = trip end end
latch(known, {})
return { 'done', keep('restore', known, instant(), ARGV[2], ARGV[3]) }`

/** Of {@link lookScript}. */
export const lookLua = `
local t = redis.call('TIME')
local at = t[1] * 1000 + math.floor(t[2] / 1000)
local first = redis.call('HSET', KEYS[2], ARGV[1], string.format('%.0f', at) .. ' ' .. ARGV[2])
local found = { redis.call('GET', KEYS[1]) or '', tonumber(redis.call('GET', KEYS[3]) or '0'), at, first }
local seen = redis.call('HGETALL', KEYS[2])
for i = 1, #seen, 2 do
  if at - tonumber(string.match(seen[i + 1], '^%d+')) > 60000 then redis.call('HDEL', KEYS[2], seen[i])
  else
    found[#found + 1] = seen[i]
    found[#found + 1] = seen[i + 1]
  end
end
return found`

/** Of {@link leadScript}. */
export const leadLua = `
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then return { 0 } end
local fence, seen = tonumber(redis.call('GET', KEYS[2]) or '0'), tonumber(ARGV[3])
if not holder or fence < seen then
  fence = math.max(fence, seen) + 1
  redis.call('SET', KEYS[2], fence)
end
if holder then redis.call('PEXPIRE', KEYS[1], ARGV[2]) else redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2]) end
return { fence }`

/** Of {@link leaveScript}. */
export const leaveLua = `if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
redis.call('HDEL', KEYS[2], ARGV[1])
return {}`
