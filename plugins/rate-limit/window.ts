import type { Memory, Script } from '../store.ts'
import { type Bucket, bucketAt, charged, mostLows, refunded, unitsEach } from './bucket.ts'
import { heldLeases, movedLeases } from './lease.ts'
import { readBucket, readLeases, writeBucket, writeLeases } from './stored.ts'

// What both scripts share, in Lua: the same arithmetic as bucket.ts, lease.ts and stored.ts, held together by a test.
const shared = `
local function int(n) return string.format('%.0f', n) end
local function read_bucket(key)
  local raw = redis.call('GET', key)
  if not raw then return { debt = 0, at = 0, lows = {} } end
  local n = {}
  for part in string.gmatch(raw, '[^,]+') do n[#n + 1] = tonumber(part) end
  local lows = {}
  for i = 3, #n, 2 do lows[#lows + 1] = { at = n[i], debt = n[i + 1] } end
  return { debt = n[1], at = n[2], lows = lows }
end
local function bucket_at(b, now, rate)
  local at = math.max(now, b.at)
  local debt = math.max(0, b.debt - (at - b.at) * rate)
  local lows = {}
  for _, low in ipairs(b.lows) do if low.debt < debt then lows[#lows + 1] = low end end
  if #lows == 0 or lows[#lows].at ~= at then lows[#lows + 1] = { at = at, debt = debt } end
  if #lows > ${mostLows} then
    lows[2].debt = lows[1].debt
    table.remove(lows, 1)
  end
  return { debt = debt, at = at, lows = lows }
end
local function refund(b, units, since)
  local first = nil
  for _, low in ipairs(b.lows) do if low.at > since then first = low.debt break end end
  local back = math.min(units, first or b.debt, b.debt)
  local lows = {}
  for _, low in ipairs(b.lows) do
    if low.at > since then lows[#lows + 1] = { at = low.at, debt = low.debt - back }
    elseif not first or low.debt < first - back then lows[#lows + 1] = low end
  end
  b.debt = b.debt - back
  b.lows = lows
end
local function write_bucket(key, b, rate)
  if b.debt <= 0 then return redis.call('DEL', key) end
  local parts = { int(b.debt), int(b.at) }
  for _, low in ipairs(b.lows) do parts[#parts + 1] = int(low.at) parts[#parts + 1] = int(low.debt) end
  redis.call('SET', key, table.concat(parts, ','), 'PX', int(math.ceil(b.debt / rate) + 1000))
end
local function read_leases(key, now)
  local leases, held = {}, 0
  for ends, count in string.gmatch(redis.call('GET', key) or '', '(%d+):(%d+)') do
    ends, count = tonumber(ends), tonumber(count)
    if ends > now and count > 0 then leases[ends] = count held = held + count end
  end
  return leases, held
end
local function write_leases(key, leases, now)
  local ends = {}
  for each, count in pairs(leases) do if each > now and count > 0 then ends[#ends + 1] = each end end
  if #ends == 0 then return redis.call('DEL', key) end
  table.sort(ends)
  local parts = {}
  for _, each in ipairs(ends) do parts[#parts + 1] = int(each) .. ':' .. int(leases[each]) end
  redis.call('SET', key, table.concat(parts, ','), 'PX', int(ends[#ends] - now + 1000))
end
local now = tonumber(ARGV[1])
`

/**
 * Takes from all keys of a run, or, where one of them has too little left, from none. ARGV: the instant, then for each key four: `b`,
 * per minute, capacity, cost; or `l`, limit, the instant the lease ends, 0. Returns 1 or 0, then for each key its debt (units) and
 * the instant it is of, or its held leases and 0.
 */
export const reserveScript: Script = {
  name: 'rate-limit-reserve',
  lua: `${shared}
local states, fits = {}, true
for i, key in ipairs(KEYS) do
  local kind, a, b, c = ARGV[i * 4 - 2], tonumber(ARGV[i * 4 - 1]), tonumber(ARGV[i * 4]), tonumber(ARGV[i * 4 + 1])
  if kind == 'b' then
    local bucket = bucket_at(read_bucket(key), now, a)
    fits = fits and bucket.debt + c * ${unitsEach} <= b * ${unitsEach}
    states[i] = { bucket = bucket, rate = a, cost = c * ${unitsEach} }
  else
    local leases, held = read_leases(key, now)
    fits = fits and held + 1 <= a
    states[i] = { leases = leases, held = held, ends = b }
  end
end
local result = { fits and 1 or 0 }
for i, key in ipairs(KEYS) do
  local s = states[i]
  if s.bucket then
    if fits then
      s.bucket.debt = s.bucket.debt + s.cost
      write_bucket(key, s.bucket, s.rate)
    end
    result[#result + 1] = s.bucket.debt
    result[#result + 1] = s.bucket.at
  else
    if fits then
      s.leases[s.ends] = (s.leases[s.ends] or 0) + 1
      write_leases(key, s.leases, now)
    end
    result[#result + 1] = s.held + (fits and 1 or 0)
    result[#result + 1] = 0
  end
end
return result`,
  local(memory, keys, args) {
    const now = Number(args[0])
    const states = keys.map((key, i) => stateOf(memory, { key, now, words: args.slice(i * 4 + 1, i * 4 + 5) }))
    const fits = states.every((state) => state.fits)
    return [fits ? 1 : 0, ...states.flatMap((state) => (fits ? state.take() : state.look))]
  },
}

/** Local half of a reservation on one key: whether it fits, what it is now, and the taking. */
interface State {
  readonly fits: boolean
  readonly look: readonly number[]
  take(): readonly number[]
}

function stateOf(memory: Memory, { key, now, words }: { key: string; now: number; words: readonly string[] }): State {
  const [kind, ...numbers] = words
  const [a = 0, b = 0, c = 0] = numbers.map(Number)
  if (kind === 'b') {
    const bucket = bucketAt(readBucket(memory, key), now, a)
    const take = (): number[] => keepBucket(memory, key, { bucket: charged(bucket, c * unitsEach), perMinute: a })
    return { fits: bucket.debt + c * unitsEach <= b * unitsEach, look: [bucket.debt, bucket.at], take }
  }
  const leases = readLeases(memory, key, now)
  const held = heldLeases(leases)
  const take = (): number[] => {
    writeLeases(memory, key, { leases: movedLeases(leases, 1, { to: b }), now })
    return [held + 1, 0]
  }
  return { fits: held + 1 <= a, look: [held, 0], take }
}

function keepBucket(memory: Memory, key: string, kept: { bucket: Bucket; perMinute: number }): number[] {
  writeBucket(memory, key, kept)
  return [kept.bucket.debt, kept.bucket.at]
}

/**
 * Puts right what was taken, on every key of a run. ARGV: the instant, then for each key five: `b`, per minute, reserved, used, the
 * instant of the reservation; or `l`, how many leases, the instant they end, the instant they shall end (0: given back), 0.
 * Returns for each key its debt (units) and the instant it is of, or its held leases and 0.
 */
export const settleScript: Script = {
  name: 'rate-limit-settle',
  lua: `${shared}
local result = {}
for i, key in ipairs(KEYS) do
  local n = {}
  for j = 1, 4 do n[j] = tonumber(ARGV[(i - 1) * 5 + 2 + j]) end
  if ARGV[(i - 1) * 5 + 2] == 'b' then
    local bucket = bucket_at(read_bucket(key), now, n[1])
    if n[3] < n[2] then refund(bucket, (n[2] - n[3]) * ${unitsEach}, n[4])
    else bucket.debt = bucket.debt + (n[3] - n[2]) * ${unitsEach} end
    write_bucket(key, bucket, n[1])
    result[#result + 1] = bucket.debt
    result[#result + 1] = bucket.at
  else
    local leases = read_leases(key, now)
    if leases[n[2]] then leases[n[2]] = math.max(0, leases[n[2]] - n[1]) end
    if n[3] > 0 then leases[n[3]] = (leases[n[3]] or 0) + n[1] end
    write_leases(key, leases, now)
    local _, held = read_leases(key, now)
    result[#result + 1] = held
    result[#result + 1] = 0
  end
end
return result`,
  local(memory, keys, args) {
    const now = Number(args[0])
    return keys.flatMap((key, i) => settled(memory, { key, now, words: args.slice(i * 5 + 1, i * 5 + 6) }))
  },
}

function settled(
  memory: Memory,
  { key, now, words }: { key: string; now: number; words: readonly string[] },
): number[] {
  const [kind, ...numbers] = words
  const [a = 0, b = 0, c = 0, d = 0] = numbers.map(Number)
  if (kind === 'b') {
    const bucket = bucketAt(readBucket(memory, key), now, a)
    const units = (b - c) * unitsEach
    const right = units > 0 ? refunded(bucket, units, d) : charged(bucket, -units)
    return keepBucket(memory, key, { bucket: right, perMinute: a })
  }
  const leases = movedLeases(readLeases(memory, key, now), a, c > 0 ? { from: b, to: c } : { from: b })
  writeLeases(memory, key, { leases, now })
  return [heldLeases(readLeases(memory, key, now)), 0]
}
