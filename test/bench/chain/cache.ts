import { createHash } from 'node:crypto'
import { Redis } from 'ioredis'
import type { ChainRequest, Service } from './exchange.ts'
import { placesOfProcess } from './places.ts'
import { runService } from './service.ts'

const ttlSeconds = 300
// They change how an answer is sent or billed, not what it says.
const apart = new Set(['stream', 'stream_options', 'user', 'metadata'])

const places = placesOfProcess()
const redis = new Redis(places.redis, { enableAutoPipelining: true })

/** Whether it was answered before: the canonical request of a tenant as the key, whole answers in Redis. */
const cache: Service<string> = {
  async request({ headers, body }) {
    const key = keyOf(headers['x-tenant'] ?? '', body)
    const text = await redis.get(key)
    if (text !== null) return { kind: 'answer', status: 200, text, headers: { 'x-cache': 'hit' } }
    return { kind: 'pass', kept: key }
  },
  answer(returned, key) {
    const whole =
      returned.status === 200 && returned.body.choices.every(({ finish_reason }) => finish_reason === 'stop')
    // Nobody waits for it: an answer that could not be kept is asked for again.
    if (whole) void redis.setex(key, ttlSeconds, returned.text).catch(() => {})
    return { headers: { 'x-cache': 'miss' } }
  },
  healthy: () => redis.ping(),
  close: () => redis.quit(),
}

function keyOf(tenant: string, body: ChainRequest): string {
  const asked = Object.fromEntries(Object.entries(body).filter(([name]) => !apart.has(name)))
  return `answer:${tenant}:${createHash('sha256')
    .update(JSON.stringify(sorted(asked)))
    .digest('base64url')}`
}

/** The same value with the members of all objects in one order. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (value === null || typeof value !== 'object') return value
  const names = Object.keys(value).sort()
  return Object.fromEntries(names.map((name) => [name, sorted((value as Record<string, unknown>)[name])]))
}

runService(cache, places)
