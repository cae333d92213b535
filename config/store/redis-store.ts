import { GatewayError } from '../../plugins/errors.ts'
import type { Clock, Log } from '../../plugins/host.ts'
import type { Store } from '../../plugins/store.ts'
import type { StoreConfig } from '../store.ts'
import { createEmbeddedStore } from './embedded.ts'
import { type Connect, createLink, storeLost } from './link.ts'
import { createRedisOperations, type Operations } from './redis-operations.ts'
import { checkOneSlot } from './slot.ts'

/** What a store over Redis needs beside its configuration. */
export interface RedisStoreParts {
  readonly connect: Connect
  readonly clock: Clock
  readonly log: Log
}

/**
 * Makes the store over Redis; waits for the first attempt to connect, whether it succeeds or not. While Redis is away `onLoss: local` goes
 * on over this process's memory, else scripts throw `store_lost`. `append` and `deletePrefix` always throw it then, since what they did
 * would be lost.
 */
export async function createRedisStore(config: StoreConfig, parts: RedisStoreParts): Promise<Store> {
  const link = await createLink(config, parts.connect, parts.log)
  const there = createRedisOperations(link)
  const values = { maxBytes: config.maxBytes }
  const aside = config.onLoss === 'local' ? createEmbeddedStore(parts.clock, { values }) : nowhere
  const note = createFaultNote(parts)
  const ask = async <T>(question: (where: Operations) => Promise<T>): Promise<T> => {
    if (!link.up()) return question(aside)
    try {
      return await question(there)
    } catch (reason) {
      note(reason)
      return question(aside)
    }
  }
  return {
    kind: 'redis',
    onLoss: config.onLoss,
    async run(script, keys, args) {
      checkOneSlot(keys)
      return ask((where) => where.run(script, keys, args))
    },
    get: (key) => ask((where) => where.get(key)),
    set: (key, value, ttlMs) => ask((where) => where.set(key, value, ttlMs)),
    add: (key, value, ttlMs) => ask((where) => where.add(key, value, ttlMs)),
    async delete(...keys) {
      // Also in the stand-in, or the next outage would bring the values back.
      await aside.delete(...keys)
      if (link.up()) await ask((where) => where.delete(...keys))
    },
    async deletePrefix(prefix) {
      await aside.deletePrefix(prefix)
      return there.deletePrefix(prefix).catch(asLost)
    },
    hash: (key) => ask((where) => where.hash(key)),
    append: (stream, fields, maxEntries) => there.append(stream, fields, maxEntries).catch(asLost),
    up: () => link.up(),
    close: async () => link.close(),
  }
}

function asLost(reason: unknown): never {
  throw reason instanceof GatewayError ? reason : storeLost('the store refused a command')
}

/** Where a store without a stand-in looks while it is away: there is nothing, and what must not be guessed fails. */
const nowhere: Operations = {
  run: async () => {
    throw storeLost('the store does not answer')
  },
  get: async () => undefined,
  set: async () => {},
  add: async () => false,
  delete: async () => {},
  deletePrefix: async () => 0,
  hash: async () => undefined,
  append: async () => {},
}

/** Logs what Redis refuses (out of memory, not allowed, a wrong type) at most every ten seconds; losses are logged by the link. */
function createFaultNote({ log, clock }: RedisStoreParts): (reason: unknown) => void {
  let quietUntil = Number.NEGATIVE_INFINITY
  return (reason) => {
    if (reason instanceof GatewayError || clock.now() < quietUntil) return
    quietUntil = clock.now() + 10_000
    const said = reason instanceof Error ? reason.message.slice(0, 200) : 'unknown'
    log.error({ reason: said }, 'the store refused a command')
  }
}
