import { createHash } from 'node:crypto'
import { bodyDigest, createContext, credentialDigest, type ExecutionContext } from './execution-context.ts'
import type { ContextOpening } from './execution-context-open.ts'
import { createKeyRing, createSigningKey, type SigningKey } from './jws-key.ts'
import { createReplaySet } from './replay-set.ts'

/** The instant the tests stand at, in milliseconds since the epoch. */
export const instant = 1_790_000_000_123
/** A body, the credential that came with it, and a policy's digest. */
export const body = Buffer.from('{"model":"m","messages":[{"role":"user","content":"hello"}]}')
export const credential = 'Bearer abc.def.ghi'
export const pol = createHash('sha256').update('policy').digest('hex')

/** An HS256 key whose secret is one byte 32 times over. */
export const secretKey = (kid: string, byte: number): SigningKey =>
  createSigningKey({ kid, alg: 'HS256', secret: Buffer.alloc(32, byte) })

/** The PEM of an Ed25519 private key with that byte 32 times over as its seed (RFC 8410 §7). */
export function ed25519Pem(byte: number): string {
  const der = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), Buffer.alloc(32, byte)])
  return `-----BEGIN PRIVATE KEY-----\n${der.toString('base64')}\n-----END PRIVATE KEY-----\n`
}

/** An Ed25519 key. */
export const pairKey = (kid: string, byte: number): SigningKey =>
  createSigningKey({ kid, alg: 'EdDSA', privateKey: ed25519Pem(byte) })

export const key = secretKey('k1', 1)

/** The call of the protocol's example, with everything that may travel. */
export const context: ExecutionContext = createContext({
  id: '0123456789abcdef0123456789abcdef',
  attempt: 1,
  shadow: false,
  iss: 'gateway-7f9c',
  aud: 'b_1',
  sentAtMs: instant,
  now: instant,
  pol,
  bod: bodyDigest(body),
  crd: credentialDigest(credential),
  modes: { auth: 'enforce', 'rate-limit': 'observe', cache: 'enforce', routing: 'enforce', prompt: 'enforce' },
  facts: { tenant: 't1', tier: 'free', client_ip: '203.0.113.7', scopes: ['chat'], claims: { user_id: 'u1' } },
  reads: { 'rate-limit': { level: 9_100, rem: 812 } },
})

/** The layers of the context, all in their first version. */
export const versions: ReadonlyMap<string, number> = new Map(Object.keys(context.modes).map((layer) => [layer, 1]))

/** An instance that would take the context, with a replay set of its own. */
export function opening(over: Partial<ContextOpening> = {}): ContextOpening {
  return {
    keys: createKeyRing([key]),
    aud: 'b_1',
    now: instant,
    body,
    credential,
    replay: createReplaySet(),
    policies: new Map([[pol, { versions }]]),
    layers: versions,
    ...over,
  }
}

/** What was opened, in one word: the code of the refusal, the reason of an `unsupported`, or `ok`. */
export function outcomeOf(opened: ReturnType<typeof import('./execution-context-open.ts').openContext>): string {
  return opened.ok ? 'ok' : (opened.refusal.reason ?? opened.refusal.code)
}
