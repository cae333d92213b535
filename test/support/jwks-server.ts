import type { JWK } from 'jose'
import type { Exchange } from './exchange.ts'
import { createGate, type Gate } from './gate.ts'
import type { TestKey } from './jwt.ts'
import { json, type Reply, rawReply } from './reply.ts'
import { startUpstream } from './upstream.ts'

/** A key set server whose keys, pace and faults a test sets. */
export interface JwksServer extends AsyncDisposable {
  /** Where the key set is. */
  readonly url: string
  /** The issuer whose `/.well-known/openid-configuration` names that key set. */
  readonly issuer: string
  /** Times that the key set was asked for. */
  readonly fetches: number
  /** Requests of any kind, as the upstream logs them. */
  readonly requests: readonly Exchange[]
  /** Replaces the key set. */
  keys(...keys: readonly (TestKey | JWK)[]): void
  /** Answers the key set from now on with this status, or a reset; undefined: well again. */
  fail(how: number | 'reset' | undefined): void
  /** Holds answers to the key set back until the returned gate opens. */
  hold(): Gate
  /** Headers of the key set answers from now on, such as `Cache-Control`. */
  headers(headers: Record<string, string>): void
}

/** Starts a key set server with these keys. */
export async function startJwks(...keys: readonly (TestKey | JWK)[]): Promise<JwksServer> {
  const state = {
    keys,
    fault: undefined as number | 'reset' | undefined,
    gate: undefined as Gate | undefined,
    headers: {},
  }
  const keySet = async (): Promise<Reply> => {
    await state.gate?.opened
    if (state.fault === 'reset') return rawReply().reset()
    if (state.fault !== undefined) return json({ error: 'out of order' }, state.fault)
    return json({ keys: state.keys.map(publicHalf) }, 200, state.headers)
  }
  const upstream = await startUpstream((request) => {
    if (request.path.startsWith(JWKS_PATH)) return keySet()
    if (request.path !== '/.well-known/openid-configuration') return json({ error: 'not found' }, 404)
    return json({ issuer: upstream.url, jwks_uri: `${upstream.url}${JWKS_PATH}` })
  })
  return {
    url: `${upstream.url}${JWKS_PATH}`,
    issuer: upstream.url,
    requests: upstream.requests,
    get fetches() {
      return upstream.requests.filter((request) => request.path.startsWith(JWKS_PATH)).length
    },
    keys(...next) {
      state.keys = next
    },
    fail(how) {
      state.fault = how
    },
    hold() {
      state.gate = createGate()
      return state.gate
    },
    headers(headers) {
      state.headers = headers
    },
    [Symbol.asyncDispose]: async () => {
      state.gate?.open()
      await upstream[Symbol.asyncDispose]()
    },
  }
}

const JWKS_PATH = '/jwks.json'

const publicHalf = (key: TestKey | JWK): JWK => ('publicJwk' in key ? (key as TestKey).publicJwk : (key as JWK))
