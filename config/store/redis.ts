import { Cluster, type ClusterOptions, Redis, type RedisOptions } from 'ioredis'
import { gatewayError } from '../../plugins/errors.ts'
import type { StoreConfig } from '../store.ts'
import { addressFromUrl, type RedisAddress } from './address.ts'
import type { Argument, Connection, Sender } from './connection.ts'

/**
 * Connects to Redis as configured: one server, the master that sentinels name, or a cluster. There is one attempt and no
 * reconnection: whoever asked is told by `lost` and asks again. Nothing is ever queued for later or sent twice. Throws what
 * kept it from connecting, within `connectTimeoutMs` for each server tried.
 */
export async function connectRedis(config: StoreConfig, lost: (why: string) => void): Promise<Connection> {
  const client = config.cluster ? clusterClient(config) : singleClient(config)
  let heard: string | undefined
  const hear = (error: Error): void => {
    heard = error.message
  }
  client.on('error', hear)
  // A cluster reports its nodes apart; without a listener they would still be swallowed.
  client.on('node error', hear)
  client.on('end', () => lost(heard ?? 'the connection was closed'))
  try {
    await client.connect()
  } catch (reason) {
    client.disconnect()
    // What is thrown says no more than that it is closed; and the library's own error would carry the words of AUTH.
    throw gatewayError('store_lost', heard ?? (reason as Error).message)
  }
  return {
    ...senderOver(client),
    masters: () => (client instanceof Cluster ? client.nodes('master').map(senderOver) : [senderOver(client)]),
    keeperOf: async (key) => senderOver(client instanceof Cluster ? await keeperIn(client, key) : client),
    async listen(channel, heard) {
      client.on('message', (on: string) => void (on === channel && heard()))
      await client.subscribe(channel)
    },
    drop: () => client.disconnect(),
  }
}

async function keeperIn(cluster: Cluster, key: string): Promise<Redis> {
  const slot = Number(await cluster.call('CLUSTER', 'KEYSLOT', key))
  const address = cluster.slots[slot]?.[0]
  const keeper = cluster.nodes('master').find(({ options: { host, port } }) => `${host}:${port}` === address)
  if (!keeper) throw gatewayError('store_lost', 'no server of the cluster keeps that key now')
  return keeper
}

function senderOver(client: Redis | Cluster): Sender {
  return {
    call: (command, args) => client.call(command, args as Argument[]),
    bytes: (command, args) => client.callBuffer(command, args as Argument[]),
  }
}

function singleClient(config: StoreConfig): Redis {
  const address = config.url === undefined ? undefined : addressFromUrl(config.url)
  if (!config.sentinel) return new Redis({ ...optionsFor(config, address), host: address?.host, port: address?.port })
  const sentinels = config.sentinel.urls.map((url) => addressFromUrl(url, 26379))
  const [first] = sentinels
  return new Redis({
    ...optionsFor(config, address),
    name: config.sentinel.name,
    sentinels: sentinels.map(({ host, port }) => ({ host, port })),
    sentinelUsername: first?.username,
    sentinelPassword: first?.password,
    ...(first?.tls ? { sentinelTLS: tlsOptions(config) } : {}),
    enableTLSForSentinelMode: address?.tls ?? false,
    sentinelCommandTimeout: config.connectTimeoutMs,
    sentinelRetryStrategy: () => null,
    sentinelReconnectStrategy: () => null,
  })
}

function clusterClient(config: StoreConfig): Cluster {
  const nodes = (config.cluster ?? []).map((url) => addressFromUrl(url))
  const [first] = nodes
  const { retryStrategy, enableOfflineQueue, db, ...redisOptions } = optionsFor(config, first)
  const options: ClusterOptions = {
    lazyConnect: true,
    enableOfflineQueue: false,
    clusterRetryStrategy: () => null,
    // A delay would mean that a command is sent again behind the caller's back.
    retryDelayOnFailover: 0,
    retryDelayOnClusterDown: 0,
    maxRedirections: 5,
    slotsRefreshTimeout: config.connectTimeoutMs,
    redisOptions,
    // Certificates name hosts, so the addresses of nodes must not be resolved before the handshake.
    ...(first?.tls ? { dnsLookup: (host, done) => done(null, host) } : {}),
  }
  return new Cluster(
    nodes.map(({ host, port }) => ({ host, port })),
    options,
  )
}

function optionsFor(config: StoreConfig, address: RedisAddress | undefined): RedisOptions {
  return {
    lazyConnect: true,
    protocol: 2,
    disableClientInfo: true,
    connectTimeout: config.connectTimeoutMs,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    autoResubscribe: false,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
    ...(address?.username ? { username: address.username } : {}),
    ...(address?.password ? { password: address.password } : {}),
    ...(address?.db ? { db: address.db } : {}),
    ...(address?.tls ? { tls: tlsOptions(config) } : {}),
  }
}

function tlsOptions(config: StoreConfig): { ca?: string; servername?: string } {
  return { ...config.tls }
}
