import type { Log } from '../../plugins/host.ts'
import type { Script } from '../../plugins/store.ts'
import type { StoreConfig } from '../store.ts'
import type { Connection, Sender } from './connection.ts'
import { evaluate, keyPrefix } from './evaluate.ts'
import { type Connect, createLink, type Link } from './link.ts'
import { connectRedis } from './redis.ts'
import { checkOneSlot } from './slot.ts'

/** How sure a write must be. */
export interface Replication {
  /** Replicas asked to say that they have it. */
  readonly replicas: number
  /** How long they are waited for, in milliseconds. */
  readonly waitMs: number
}

/** What a write gave back, and how many replicas of Redis have it. */
export interface Written {
  readonly reply: readonly (number | string)[]
  readonly replicated: number
}

/**
 * A line to Redis of its own, for state that must never be guessed: what cannot be asked is refused, whatever `onLoss` says. Slower than
 * the store's and never on the way of a call.
 */
export interface RedisLine {
  /** Runs a script. Throws `store_lost` when Redis is away, and error replies as they came. */
  run(script: Script, keys: readonly string[], args: readonly (string | number)[]): Promise<Written['reply']>
  /** As `run`, then waits for replicas of Redis (`WAIT`); 0 also where the connection was lost in between. */
  write(run: Parameters<RedisLine['run']>, replication: Replication): Promise<Written>
  /** Listens to a channel, over a connection apart, until that breaks: then `ended` is told, once. Throws when it cannot be opened. */
  listen(channel: string, heard: () => void, ended: () => void): Promise<void>
  up(): boolean
  close(): void
}

/** The least time one command gets, in milliseconds: nobody waits for it, and `WAIT` alone may take 200. */
const leastTimeoutMs = 1_000

/** Opens a {@link RedisLine}; waits for the first attempt to connect, whether that succeeds or not. `connect` is another one in tests only. */
export async function createRedisLine(
  config: StoreConfig,
  log: Log,
  connect: Connect = connectRedis,
): Promise<RedisLine> {
  const own: StoreConfig = {
    ...config,
    onLoss: 'closed',
    commandTimeoutMs: Math.max(config.commandTimeoutMs, leastTimeoutMs),
  }
  const link = await createLink(own, connect, log)
  let listening: Connection | undefined
  let closed = false
  const run: RedisLine['run'] = async (script, keys, args) => {
    checkOneSlot(keys)
    return evaluate(link, { script, keys, args })
  }
  return {
    run,
    async write([script, keys, args], replication) {
      const keeper = await keeperOver(link, keys[0] as string)
      const reply = await run(script, keys, args)
      return { reply, replicated: await replicated(link, keeper, replication) }
    },
    async listen(channel, heard, ended) {
      const opened: { connection?: Connection } = {}
      const connection = await connect(own, () => {
        if (listening === opened.connection) listening = undefined
        if (opened.connection) ended()
      })
      try {
        await connection.listen(keyPrefix + channel, heard)
        if (closed) return connection.drop()
        opened.connection = connection
        listening = connection
      } catch (reason) {
        connection.drop()
        throw reason
      }
    },
    up: () => link.up(),
    close() {
      closed = true
      listening?.drop()
      link.close()
    },
  }
}

interface Keeper {
  readonly over: Connection
  readonly server: Sender
}

function keeperOver(link: Link, key: string): Promise<Keeper> {
  return link.ask(async (over) => ({ over, server: await over.keeperOf(keyPrefix + key) }))
}

/** `WAIT` speaks of the writes of its own connection, so over another one it would say yes to anything. */
async function replicated(link: Link, { over, server }: Keeper, { replicas, waitMs }: Replication): Promise<number> {
  try {
    return await link.ask(async (now) => (now === over ? Number(await server.call('WAIT', [replicas, waitMs])) : 0))
  } catch {
    return 0
  }
}
