import { essenceDigest } from '../../plugins/acknowledgement.ts'
import { acknowledgementKey, verifyAcknowledgement } from '../../plugins/acknowledgement-verify.ts'
import { createCall, type Facts } from '../../plugins/call.ts'
import { textFromCredentials } from '../../plugins/caller-credential.ts'
import type { Capabilities } from '../../plugins/capabilities.ts'
import { contextFactsFromCall } from '../../plugins/context-call.ts'
import { gatewayErrorFrom } from '../../plugins/errors.ts'
import { bodyDigest, createContext, credentialDigest } from '../../plugins/execution-context.ts'
import { sealContext } from '../../plugins/execution-context-seal.ts'
import { createInsideDigest } from '../../plugins/inside-digest.ts'
import { createSigningKey } from '../../plugins/jws-key.ts'
import { type Layer, wholeVerdict } from '../../plugins/layer.ts'
import { sealPolicy } from '../../plugins/policy-carrier.ts'
import { pass, refuse } from '../../plugins/verdict.ts'
import { foldedFrom } from '../../proxy/folding/policies.ts'
import { createTestHost } from '../support/host.ts'
import type { LawCase } from './cases.ts'

/** What the two halves of a layer said of one call: essence digest, or why there is none. */
export interface Compared {
  readonly here: string
  readonly there: string
}

/** Asks the gateway's half of a layer here and the runner's half in its own process about the same calls. */
export interface Parity {
  compare(layer: Layer, lawCase: LawCase): Promise<readonly Compared[]>
  close(): Promise<void>
}

const principal: Facts['principal'] = { id: 'u', tenant: 't1', tier: 'free', scopes: [], claims: {}, method: 'api-key' }

/** Makes {@link Parity} over a runner that knows the key `k1`. */
export async function createParity(url: string, secret: Buffer): Promise<Parity> {
  const key = createSigningKey({ kid: 'k1', alg: 'HS256', secret })
  const wellKnown = `${url}/.well-known/execution-context`
  const { boot } = (await (await fetch(wellKnown)).json()) as Capabilities
  const now = 1_800_000_000_000
  let calls = 0

  const compareOne = async (layer: Layer, { config, headers = {} }: LawCase, body: unknown): Promise<Compared> => {
    const host = createTestHost({
      // Nothing sits further in than the one layer of a case.
      insideDigest: createInsideDigest([], new Map()),
      runners: {
        names: ['a', 'b'],
        state: () => ({ available: true, retryAfterMs: 0, outstandingTokens: 0 }),
        ask: async () => '',
      },
    })
    const { native, fold } = layer
    if (!native || !fold) return { here: 'folds', there: 'does not fold' }
    const parsed = layer.config.parse(config)
    const step = fold(parsed, {
      declared: host.declared,
      conversationHeader: host.conversationHeader,
      file: host.file,
      secret: (path) => path.split('/').at(-1) as string,
    })
    const folded = foldedFrom('chat', [{ layer: layer.name, version: native.version, step }])
    const sealing = { iss: 'law', aud: boot, now: Date.now() }
    await fetch(`${wellKnown}/policies/${folded.digest}`, {
      method: 'PUT',
      body: sealPolicy(folded.policy, sealing, key),
      headers: { 'content-type': 'application/jose' },
    })
    const bytes = Buffer.from(JSON.stringify(body))
    const call = createCall({
      id: (++calls).toString(16).padStart(32, '0'),
      route: 'chat',
      now,
      body: bytes,
      headers,
      facts: { client_ip: '203.0.113.7', ...(layer.reads.includes('principal') ? { principal } : {}) },
      signal: new AbortController().signal,
    })
    const acting = await layer.open(parsed, host)
    const verdict = await Promise.resolve()
      .then(() => acting.decide?.(call, 'enforce') ?? pass())
      .catch((reason: unknown) => refuse(gatewayErrorFrom(reason)))
    const reads = acting.reads?.(call)
    const here = essenceDigest(native.essence ? native.essence(verdict, call) : wholeVerdict(verdict))
    acting.release?.(call)
    await acting.close?.()
    host.end()
    const credential = textFromCredentials(headers, native.credentials?.(step) ?? [])
    const context = createContext({
      id: call.id,
      attempt: 1,
      shadow: false,
      iss: 'law',
      aud: boot,
      sentAtMs: Date.now(),
      now,
      pol: folded.digest,
      bod: bodyDigest(bytes),
      ...(credential === undefined ? {} : { crd: credentialDigest(credential) }),
      modes: { [layer.name]: 'observe' },
      facts: contextFactsFromCall(call, {
        principal: layer.reads.includes('principal'),
        claims: native.claims?.(step) ?? [],
        headers: native.headers?.(step) ?? [],
      }),
      ...(reads ? { reads: { [layer.name]: reads } } : {}),
    })
    const sealed = sealContext(context, key)
    if (!sealed.ok) return { here, there: sealed.detail }
    const answer = await fetch(`${wellKnown}/decide`, {
      method: 'POST',
      body: bytes,
      headers: {
        'content-type': 'application/json',
        'x-execution-context': sealed.header,
        ...(credential === undefined ? {} : { 'x-caller-credential': credential }),
      },
    })
    const text = answer.headers.get('x-layer-ack') ?? undefined
    const said = verifyAcknowledgement(text, { context, key: acknowledgementKey(key), versions: folded.versions })
    if (!said.ok) return { here, there: `${said.mismatch}: ${answer.status} ${await answer.text()}` }
    return { here, there: said.acknowledgement.layers[layer.name]?.e ?? 'no essence' }
  }
  return {
    async compare(layer, lawCase) {
      const found: Compared[] = []
      for (const body of lawCase.bodies) found.push(await compareOne(layer, lawCase, body))
      return found
    },
    close: async () => undefined,
  }
}
