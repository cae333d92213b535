import { until } from './gate.ts'
import { type Redis, redisAvailable, redisCli, startServer } from './redis.ts'

/** A master with one replica, and the sentinels that watch them. */
export interface RedisSentinel extends AsyncDisposable {
  /** The name that the sentinels know the master by. */
  readonly name: string
  readonly master: Redis
  readonly replica: Redis
  readonly sentinels: readonly Redis[]
  /** Where the sentinels listen, as clients are configured. */
  readonly addresses: readonly { readonly host: string; readonly port: number }[]
  /** The port of the master as the first sentinel sees it now. */
  masterPort(): Promise<number>
}

/** A Redis Cluster. */
export interface RedisCluster extends AsyncDisposable {
  readonly nodes: readonly Redis[]
  readonly addresses: readonly { readonly host: string; readonly port: number }[]
  /** The nodes that are masters now. */
  masters(): Promise<readonly Redis[]>
}

const NAME = 'foldgate'

/** Starts a master, a replica and `count` sentinels (default 1) that fail over within seconds; null without Redis. */
export async function startRedisSentinel(count = 1): Promise<RedisSentinel | null> {
  if (!redisAvailable) return null
  await using started = new AsyncDisposableStack()
  const master = started.use(await startServer())
  const replica = started.use(await startServer({ args: ['--replicaof', '127.0.0.1', String(master.port)] }))
  const sentinels: Redis[] = []
  for (let index = 0; index < count; index++) sentinels.push(started.use(await startSentinel(master, count)))
  const first = sentinels[0]!
  await until(
    async () => (await replica.cli('info', 'replication')).includes('master_link_status:up'),
    'a replica',
    10_000,
  )
  await until(
    async () => (await Promise.all(sentinels.map((one) => seesAll(one, count)))).every(Boolean),
    'sentinels',
    15_000,
  )
  const all = started.move()
  return {
    name: NAME,
    master,
    replica,
    sentinels,
    addresses: addressesOf(sentinels),
    masterPort: async () => Number((await first.cli('sentinel', 'get-master-addr-by-name', NAME)).split('\n')[1]),
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  }
}

/** Starts a cluster of `masters` (default 3) masters with `replicas` (default 0) replicas each; null without Redis. */
export async function startRedisCluster({ masters = 3, replicas = 0 } = {}): Promise<RedisCluster | null> {
  if (!redisAvailable) return null
  await using started = new AsyncDisposableStack()
  const args = ['--cluster-enabled', 'yes', '--cluster-node-timeout', '1000', '--cluster-replica-validity-factor', '0']
  const nodes: Redis[] = []
  for (let index = 0; index < masters * (1 + replicas); index++) nodes.push(started.use(await startServer({ args })))
  const endpoints = nodes.map((node) => `127.0.0.1:${node.port}`)
  const first = nodes[0]!
  await first.cli('--cluster', 'create', ...endpoints, '--cluster-replicas', String(replicas), '--cluster-yes')
  await until(
    async () => (await Promise.all(nodes.map((node) => isWhole(node, nodes.length)))).every(Boolean),
    'a cluster',
    20_000,
  )
  const all = started.move()
  return {
    nodes,
    addresses: addressesOf(nodes),
    masters: async () => {
      const roles = await Promise.all(nodes.map((node) => node.cli('role').catch(() => 'gone')))
      return nodes.filter((_, index) => roles[index]!.startsWith('master'))
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  }
}

function startSentinel(master: Redis, count: number): Promise<Redis> {
  const quorum = Math.floor(count / 2) + 1
  const config = [
    `sentinel monitor ${NAME} 127.0.0.1 ${master.port} ${quorum}`,
    `sentinel down-after-milliseconds ${NAME} 500`,
    `sentinel failover-timeout ${NAME} 3000`,
  ]
  return startServer({ config: `${config.join('\n')}\n`, args: ['--sentinel'], ready: /\+monitor master/ })
}

async function seesAll(sentinel: Redis, count: number): Promise<boolean> {
  const replicas = await redisCli(sentinel.port, 'sentinel', 'replicas', NAME)
  const others = await redisCli(sentinel.port, 'sentinel', 'sentinels', NAME)
  return namesIn(replicas) === 1 && namesIn(others) === count - 1
}

const namesIn = (listing: string) => listing.split('\n').filter((line) => line === 'runid').length

async function isWhole(node: Redis, count: number): Promise<boolean> {
  const info = await node.cli('cluster', 'info')
  return info.includes('cluster_state:ok') && info.includes(`cluster_known_nodes:${count}`)
}

const addressesOf = (servers: readonly Redis[]) => servers.map(({ port }) => ({ host: '127.0.0.1', port }))
