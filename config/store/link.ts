import { type GatewayError, gatewayError } from '../../plugins/errors.ts'
import type { Log } from '../../plugins/host.ts'
import type { StoreConfig } from '../store.ts'
import type { Connection, Sender } from './connection.ts'

/** The way to Redis, which may be down. Nobody ever waits longer than one command timeout, and while it is down nobody waits. */
export interface Link {
  up(): boolean
  /** Asks on the connection there is. Throws `store_lost` at once when there is none or when it was lost; replies of Redis that are errors are thrown as they came. */
  ask<T>(question: (connection: Connection) => Promise<T>): Promise<T>
  /** The instant, on the clock of Redis in milliseconds, after which a command sent now is no longer wanted. */
  deadline(): number
  /** Takes over what the clock of Redis says now, in milliseconds. */
  learn(redisMs: number): void
  close(): void
}

/** How a {@link Link} gets its connections: `connectRedis`, which loads the library. */
export type Connect = (config: StoreConfig, lost: (why: string) => void) => Promise<Connection>

/** After a command timeout the store counts as down for this long, in milliseconds. */
const downMs = 1_000
/** After a connection broke or could not be made, in milliseconds. */
const retryMs = 250

// Replies that say: this server cannot serve now, or it is no longer the one to ask.
const lossCodes: ReadonlySet<string> = new Set([
  'READONLY',
  'LOADING',
  'MASTERDOWN',
  'CLUSTERDOWN',
  'NOAUTH',
  'UNBLOCKED',
])

/** Makes a {@link Link} and waits for its first attempt to connect, whether that succeeds or not. */
export async function createLink(config: StoreConfig, connect: Connect, log: Log): Promise<Link> {
  const state: State = { connection: undefined, offsetMs: 0, timer: undefined, closed: false, told: false }
  const inner: Inner = { config, connect, log, state }
  await attempt(inner)
  return {
    up: () => state.connection !== undefined,
    ask: (question) => ask(inner, question),
    deadline: () => Math.ceil(performance.now() + state.offsetMs + config.commandTimeoutMs),
    learn(redisMs) {
      state.offsetMs = Math.max(state.offsetMs, redisMs - performance.now())
    },
    close() {
      state.closed = true
      clearTimeout(state.timer)
      state.connection?.drop()
      state.connection = undefined
    },
  }
}

interface State {
  connection: Connection | undefined
  /** Redis's clock less `performance.now()`. */
  offsetMs: number
  timer: NodeJS.Timeout | undefined
  closed: boolean
  /** The loss was logged already. */
  told: boolean
}

interface Inner {
  readonly config: StoreConfig
  readonly connect: Connect
  readonly log: Log
  readonly state: State
}

async function ask<T>(inner: Inner, question: (connection: Connection) => Promise<T>): Promise<T> {
  const { connection } = inner.state
  if (!connection) throw storeLost('the store is away')
  try {
    return await within(question(connection), inner.config.commandTimeoutMs)
  } catch (reason) {
    if (reason === late) {
      lose(inner, connection, { why: `no answer within ${inner.config.commandTimeoutMs} ms`, forMs: downMs })
      throw storeLost('the store does not answer')
    }
    const why = wordsOf(reason)
    if (!isReply(reason) || lossCodes.has(codeOf(reason))) {
      lose(inner, connection, { why, forMs: retryMs })
      throw storeLost('the connection to the store was lost')
    }
    throw reason
  }
}

function lose(inner: Inner, connection: Connection, loss: { why: string; forMs: number }): void {
  const { state, log } = inner
  if (state.connection !== connection) return
  state.connection = undefined
  connection.drop()
  if (!state.told) log.warn({ reason: loss.why, onLoss: inner.config.onLoss }, 'the store is lost')
  state.told = true
  retry(inner, loss.forMs)
}

function retry(inner: Inner, afterMs: number): void {
  if (inner.state.closed) return
  clearTimeout(inner.state.timer)
  inner.state.timer = setTimeout(() => void attempt(inner), afterMs).unref()
}

async function attempt(inner: Inner): Promise<void> {
  const { state, config, log } = inner
  const fresh: { connection?: Connection; gone?: string; late?: boolean } = {}
  const lost = (why: string): void => {
    fresh.gone = why
    if (fresh.connection) lose(inner, fresh.connection, { why, forMs: retryMs })
  }
  const opening = inner.connect(config, lost).then((connection) => {
    fresh.connection = connection
    if (fresh.late) connection.drop()
    return connection
  })
  try {
    const connection = await within(opening, config.connectTimeoutMs)
    const offsetMs = await within(clockOffset(connection.masters()), config.connectTimeoutMs)
    if (fresh.gone !== undefined) throw gatewayError('store_lost', fresh.gone)
    if (state.closed) return connection.drop()
    Object.assign(state, { connection, offsetMs })
    if (state.told) log.info({}, 'the store is back')
    state.told = false
  } catch (reason) {
    fresh.late = true
    fresh.connection?.drop()
    if (!state.told) log.warn({ reason: wordsOf(reason), onLoss: config.onLoss }, 'the store cannot be reached')
    state.told = true
    retry(inner, retryMs)
  }
}

/** Redis's clock less ours; of several servers the furthest ahead, so that none takes a fresh command for a stale one. */
async function clockOffset(servers: readonly Sender[]): Promise<number> {
  const offsets = servers.map(async (server) => {
    const sent = performance.now()
    const [seconds, micros] = (await server.call('TIME', [])) as [string, string]
    return Number(seconds) * 1000 + Number(micros) / 1000 - sent
  })
  return Math.max(...(await Promise.all(offsets)))
}

const late = Symbol('late')

function within<T>(promise: Promise<T>, ms: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(late), ms)
    promise.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}

/** The store does not answer; a retry in a second can help. */
export function storeLost(message: string): GatewayError {
  return gatewayError('store_lost', message, { retryAfterMs: downMs })
}

function isReply(reason: unknown): boolean {
  return reason instanceof Error && reason.name === 'ReplyError'
}

/** The first word of an error reply, such as `NOSCRIPT`; empty for anything else. */
export function codeOf(reason: unknown): string {
  return isReply(reason) ? ((reason as Error).message.split(' ', 1)[0] ?? '') : ''
}

// Only the message: the error object of a failed AUTH holds the password.
function wordsOf(reason: unknown): string {
  if (reason === late) return 'connecting took too long'
  return reason instanceof Error ? reason.message.slice(0, 200) : 'unknown'
}
