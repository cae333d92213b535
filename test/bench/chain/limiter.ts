import { Redis } from 'ioredis'
import { type ChainRequest, errorAnswer, type Service } from './exchange.ts'
import { placesOfProcess } from './places.ts'
import { runService } from './service.ts'

const requestsPerMinute = 10_000_000
const expectedOutput = 256

/**
 * Two token buckets of a tenant, model tokens and requests, taken from together or not at all. Keys: both buckets. Arguments: capacity of
 * each (which refills in a minute) and what is taken of each; what is negative is given back. Answers 0, or the milliseconds to wait.
 */
const script = `
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local levels = {}
local wait = 0
for i = 1, 2 do
  local capacity, taken = tonumber(ARGV[i]), tonumber(ARGV[i + 2])
  local kept = redis.call('HMGET', KEYS[i], 'level', 'at')
  local level = tonumber(kept[1]) or capacity
  level = math.min(capacity, level + (now - (tonumber(kept[2]) or now)) * capacity / 60000)
  levels[i] = math.min(capacity, level - taken)
  if taken > 0 and levels[i] < 0 then wait = math.max(wait, math.ceil(-levels[i] * 60000 / capacity)) end
end
if wait > 0 then return wait end
for i = 1, 2 do
  redis.call('HSET', KEYS[i], 'level', string.format('%.3f', levels[i]), 'at', now)
  redis.call('PEXPIRE', KEYS[i], 120000)
end
return 0`

interface Reserved {
  readonly tenant: string
  readonly tokens: number
}

const places = placesOfProcess()
const redis = new Redis(places.redis, { enableAutoPipelining: true })
const sha = String(await redis.script('LOAD', script))

/** How much a tenant may: reserved before the call, settled to what was really used after it, given back when it failed. */
const limiter: Service<Reserved> = {
  async request({ headers, body }) {
    const tenant = headers['x-tenant'] ?? 'nobody'
    const tokens = estimated(body)
    const wait = await take({ tenant, tokens }, 1)
    if (wait > 0) return errorAnswer(429, 'the limit is reached', { 'retry-after': String(Math.ceil(wait / 1000)) })
    return { kind: 'pass', kept: { tenant, tokens } }
  },
  answer(returned, { tenant, tokens }) {
    const used = returned.status === 200 ? (returned.body.usage?.total_tokens ?? tokens) : 0
    // Nobody waits for it: the answer goes on while the bucket is set right.
    if (used !== tokens) void take({ tenant, tokens: used - tokens }, 0).catch(() => {})
    return undefined
  },
  healthy: () => redis.ping(),
  close: () => redis.quit(),
}

/** Four characters to a token, which is near enough for a reservation that is settled later. */
function estimated({ messages, max_tokens }: ChainRequest): number {
  const characters = messages.reduce((sum, { content }) => sum + content.length, 0)
  return Math.ceil(characters / 4) + Math.min(max_tokens ?? expectedOutput, expectedOutput)
}

async function take({ tenant, tokens }: Reserved, requests: number): Promise<number> {
  const keys = [`limit:{${tenant}}:tokens`, `limit:{${tenant}}:requests`]
  const args = [places.tokensPerMinute, requestsPerMinute, tokens, requests]
  const wait = await redis.evalsha(sha, 2, ...keys, ...args).catch((fault: Error) => {
    if (!fault.message.startsWith('NOSCRIPT')) throw fault
    return redis.eval(script, 2, ...keys, ...args)
  })
  return Number(wait)
}

runService(limiter, places)
