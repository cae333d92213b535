import { canonicalDigest } from '../canonical.ts'
import { gatewayError } from '../errors.ts'
import type { Host } from '../host.ts'
import type { JwtConfig } from './config-jwt.ts'
import { keyFromJwk, type VerificationKey } from './keys.ts'

/** The doors that a fetched key set needs. */
export type JwksHost = Pick<Host, 'clock' | 'http' | 'log' | 'count' | 'closed'>

/** The settings that a fetched key set needs. */
export type JwksSettings = Pick<JwtConfig, 'maxAgeMs' | 'coolOffMs' | 'timeoutMs' | 'maxStaleMs' | 'rsaAlgorithm'> & {
  readonly jwksUrl: string
}

/** The key set of an issuer, fetched when it is needed, by one fetch at a time, and kept through outages. */
export interface FetchedKeys {
  /** The keys of the last good answer; empty before the first. */
  readonly keys: readonly VerificationKey[]
  /** Raised whenever the keys become other ones. */
  readonly version: number
  /** False while there is no set that may be used: none was ever had, or the last good one is too old. */
  readonly usable: boolean
  /**
   * Asked before every use. Undefined: the set may be used at once (it is younger than `maxAgeMs`, or the issuer is out of order). A
   * promise: a fetch to wait for; it never rejects. A set half as old as allowed is fetched anew meanwhile.
   */
  ready(): Promise<void> | undefined
  /** Asks for a fetch because a token fits no key. Undefined while that cools off. The promise never rejects. */
  renew(): Promise<void> | undefined
  close(): void
}

/** Most members of a key set that are looked at. */
const maxKeys = 100
/** A set that was used within this time is kept fresh by a timer, so that no call waits for it. */
const keepFreshMs = 60_000

interface State {
  readonly settings: JwksSettings
  readonly host: JwksHost
  readonly onChange: () => void
  keys: readonly VerificationKey[]
  digest: string
  version: number
  /** When the fetch of the last good answer began: the set is known to be true for that moment only. */
  asOf: number | undefined
  failing: boolean
  attemptAt: number
  missAt: number
  usedAt: number
  inFlight: Promise<void> | undefined
  timer: NodeJS.Timeout | undefined
}

/** Makes a {@link FetchedKeys}; `onChange` is called whenever the keys have become other ones. */
export function createFetchedKeys(settings: JwksSettings, host: JwksHost, onChange: () => void): FetchedKeys {
  const never = Number.NEGATIVE_INFINITY
  const state: State = {
    settings,
    host,
    onChange,
    keys: [],
    digest: '',
    version: 0,
    asOf: undefined,
    failing: false,
    attemptAt: never,
    missAt: never,
    usedAt: never,
    inFlight: undefined,
    timer: undefined,
  }
  const close = (): void => clearTimeout(state.timer)
  host.closed.addEventListener('abort', close, { once: true })
  return {
    get keys() {
      return state.keys
    },
    get version() {
      return state.version
    },
    get usable() {
      return usable(state)
    },
    ready: () => ready(state),
    renew: () => renew(state),
    close,
  }
}

function usable(state: State): boolean {
  return state.asOf !== undefined && age(state) <= (state.settings.maxStaleMs ?? Number.POSITIVE_INFINITY)
}

/** How old the set is. A clock that was put back makes it old, not young. */
function age({ host, asOf }: State): number {
  if (asOf === undefined) return Number.POSITIVE_INFINITY
  const ms = host.clock.now() - asOf
  return ms < 0 ? Number.MAX_SAFE_INTEGER : ms
}

function ready(state: State): Promise<void> | undefined {
  state.usedAt = state.host.clock.now()
  const { maxAgeMs } = state.settings
  const old = age(state)
  if (old <= maxAgeMs / 2) return undefined
  const fetching = attempt(state)
  // While the issuer is out of order nobody waits for it: the last good set goes on.
  if (old <= maxAgeMs || (state.failing && usable(state))) return undefined
  return fetching
}

function renew(state: State): Promise<void> | undefined {
  if (state.inFlight) return state.inFlight
  const now = state.host.clock.now()
  if (within(now - state.missAt, state.settings.coolOffMs)) return undefined
  state.missAt = now
  return attempt(state)
}

/** The fetch under way, or a new one; undefined while a failed one cools off. */
function attempt(state: State): Promise<void> | undefined {
  if (state.inFlight) return state.inFlight
  const now = state.host.clock.now()
  if (state.failing && within(now - state.attemptAt, state.settings.coolOffMs)) return undefined
  state.attemptAt = now
  state.inFlight = fetchKeys(state, now).finally(() => {
    state.inFlight = undefined
    keepFresh(state)
  })
  return state.inFlight
}

function within(elapsed: number, ms: number): boolean {
  return elapsed >= 0 && elapsed < ms
}

async function fetchKeys(state: State, asOf: number): Promise<void> {
  const { host, settings } = state
  try {
    const answer = await host.http.send(settings.jwksUrl, {
      timeoutMs: settings.timeoutMs,
      headers: { accept: 'application/json', 'cache-control': 'no-cache' },
      signal: host.closed,
    })
    if (answer.status !== 200) throw gatewayError('runner_protocol', `the key set was answered with ${answer.status}`)
    adopt(state, membersFromBody(answer.body), asOf)
  } catch {
    // Not even the message is told: it may hold the URL, and that may hold a secret.
    if (host.closed.aborted) return
    host.count('auth.jwks-failed')
    if (!state.failing) {
      host.log.warn({ host: new URL(settings.jwksUrl).host, kept: state.keys.length }, 'key set cannot be fetched')
    }
    state.failing = true
  }
}

function membersFromBody(body: Buffer): readonly unknown[] {
  const { keys } = (JSON.parse(body.toString('utf8')) ?? {}) as { keys?: unknown }
  if (!Array.isArray(keys)) throw gatewayError('runner_protocol', 'the key set has no array "keys"')
  return keys.slice(0, maxKeys)
}

function adopt(state: State, members: readonly unknown[], asOf: number): void {
  const digest = canonicalDigest(members)
  if (state.failing) state.host.log.info({ keys: members.length }, 'key set can be fetched again')
  state.failing = false
  state.asOf = asOf
  if (digest === state.digest) return
  const keys = members.map((jwk) => keyFromJwk(jwk, state.settings.rsaAlgorithm))
  state.keys = keys.filter((key) => key !== undefined)
  state.digest = digest
  state.version++
  state.onChange()
}

function keepFresh(state: State): void {
  const { host, settings } = state
  clearTimeout(state.timer)
  if (host.closed.aborted) return
  const wait = state.failing ? settings.coolOffMs : settings.maxAgeMs / 2
  state.timer = setTimeout(() => {
    if (host.clock.now() - state.usedAt <= keepFreshMs) attempt(state)
  }, wait)
  state.timer.unref()
}
