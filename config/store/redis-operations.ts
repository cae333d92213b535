import type { Store } from '../../plugins/store.ts'
import type { Argument, Sender } from './connection.ts'
import { evaluate, keyPrefix } from './evaluate.ts'
import type { Link } from './link.ts'

/** What a store does, apart from what it is. */
export type Operations = Omit<Store, 'kind' | 'onLoss' | 'up' | 'close'>

/**
 * The operations as commands of Redis. Each throws `store_lost`, and error replies as they came. `hash` and `append` use keys as they
 * are named, because others share them; all other keys begin with `foldgate:`.
 */
export function createRedisOperations(link: Link): Operations {
  const call = (command: string, ...args: Argument[]): Promise<unknown> => link.ask((on) => on.call(command, args))
  return {
    run: (script, keys, args) => evaluate(link, { script, keys, args }),
    async get(key) {
      const bytes = await link.ask((on) => on.bytes('GET', [keyPrefix + key]))
      return (bytes as Buffer | null) ?? undefined
    },
    async set(key, value, ttlMs) {
      // Redis refuses an expiry of 0; for us it is a value that is gone at once.
      if (ttlMs <= 0) await call('UNLINK', keyPrefix + key)
      else await call('SET', keyPrefix + key, value, 'PX', Math.ceil(ttlMs))
    },
    async add(key, value, ttlMs) {
      return (await call('SET', keyPrefix + key, value, 'PX', Math.max(1, Math.ceil(ttlMs)), 'NX')) === 'OK'
    },
    async delete(...keys) {
      // One by one: the keys may lie on different nodes of a cluster.
      await Promise.all(keys.map((key) => call('UNLINK', keyPrefix + key)))
    },
    deletePrefix: (prefix) => deletePrefix(link, keyPrefix + prefix),
    async hash(key) {
      const pairs = (await call('HGETALL', key)) as string[]
      return pairs.length === 0 ? undefined : recordFromPairs(pairs)
    },
    async append(stream, fields, maxEntries) {
      await call('XADD', stream, 'MAXLEN', '~', maxEntries, '*', ...Object.entries(fields).flat())
    },
  }
}

async function deletePrefix(link: Link, prefix: string): Promise<number> {
  const pattern = `${prefix.replace(/[\\*?[\]]/g, '\\$&')}*`
  const servers = await link.ask(async (on) => on.masters())
  let deleted = 0
  for (const server of servers) {
    let cursor = '0'
    do {
      const [next, keys] = await scan(link, server, [cursor, 'MATCH', pattern, 'COUNT', 1000])
      const counts = await link.ask((on) => Promise.all(keys.map((key) => on.call('UNLINK', [key]))))
      deleted += counts.reduce<number>((sum, count) => sum + Number(count), 0)
      cursor = next
    } while (cursor !== '0')
  }
  return deleted
}

function scan(link: Link, server: Sender, args: readonly Argument[]): Promise<[string, string[]]> {
  return link.ask(() => server.call('SCAN', args) as Promise<[string, string[]]>)
}

function recordFromPairs(pairs: readonly string[]): Record<string, string> {
  const record: Record<string, string> = {}
  for (let i = 0; i + 1 < pairs.length; i += 2) {
    // Defined, not assigned: a field may be called __proto__.
    Object.defineProperty(record, pairs[i] as string, { value: pairs[i + 1], enumerable: true, configurable: true })
  }
  return record
}
