import { type Acknowledgement, essenceDigest } from '../../plugins/acknowledgement.ts'
import { textFromAcknowledgement } from '../../plugins/acknowledgement-text.ts'
import { acknowledgementKey, sealAcknowledgement } from '../../plugins/acknowledgement-verify.ts'
import { credentialHeader, textFromCredentials } from '../../plugins/caller-credential.ts'
import { canonicalJson } from '../../plugins/canonical.ts'
import { withDigest } from '../../plugins/capabilities.ts'
import { bodyDigest, createContext, credentialDigest } from '../../plugins/execution-context.ts'
import { replayIdentity } from '../../plugins/execution-context-open.ts'
import { signJws } from '../../plugins/jws.ts'
import { createSigningKey } from '../../plugins/jws-key.ts'
import { type Policy, policyDigest } from '../../plugins/policy.ts'
import { sealPolicy, sealPolicyQuestion } from '../../plugins/policy-carrier.ts'

/** A key as both sides hold it: never to be used for anything but this example. */
const secret = Buffer.from(Array.from({ length: 32 }, (_, at) => at))
const instant = 1_790_000_000_123
const boot = 'b_00112233445566778899aabbccddeeff'
const iss = 'gateway-1'

const capabilities = withDigest({
  versions: [1],
  runner: 'example-runner/1.0',
  boot,
  state: 'local',
  placement: 'in-engine',
  engine: { name: 'example', version: '1.0' },
  keys: ['k1'],
  maxContextBytes: 4_096,
  layers: { 'rate-limit': { version: 1, unit: 'model-tokens' } },
  models: [{ id: 'm', contextTokens: 8_192 }],
  load: { running: 0, queued: 0, free: 8 },
})
const policy: Policy = {
  v: 1,
  route: 'chat',
  steps: [
    {
      layer: 'rate-limit',
      version: 1,
      step: {
        limits: [{ key_fields: ['tenant'], tokens_per_minute: 10_000, tiers: {} }],
        tiers: {},
        cutStreams: false,
        leaseMs: 30_000,
        declared: [],
        asked: [],
      },
    },
  ],
}
const body = '{"model":"m","messages":[{"role":"user","content":"hello"}],"stream":true}'
const essence = { kind: 'pass' }

/** Every document once, with the bytes on the way to it: what a runner in another language can be checked with, step by step. */
export function workedExample() {
  const key = createSigningKey({ kid: 'k1', alg: 'HS256', secret })
  const pol = policyDigest(policy)
  const carrier = { iss, aud: boot, now: instant }
  const credential = textFromCredentials({ authorization: 'Bearer abc' }, ['authorization']) as string
  const context = createContext({
    id: '0123456789abcdef0123456789abcdef',
    attempt: 1,
    shadow: false,
    iss,
    aud: boot,
    sentAtMs: instant,
    now: instant,
    pol,
    bod: bodyDigest(Buffer.from(body)),
    crd: credentialDigest(credential),
    modes: { 'rate-limit': 'enforce' },
    facts: { client_ip: '203.0.113.7', id: 'u1', tenant: 't1', tier: 'free', method: 'jwt' },
  })
  const head: Acknowledgement = {
    runner: { boot, caps: capabilities.caps, id: context.id, pol },
    layers: {
      'rate-limit': {
        v: 1,
        m: 'enforce',
        o: 'pass',
        d: 210,
        e: essenceDigest(essence),
        rsv: 270,
        rem: 9_730,
        bkt: 'a1b2',
      },
    },
  }
  const end: Acknowledgement = {
    runner: { id: context.id },
    layers: { 'rate-limit': { used: 21 } },
    usage: { in: 9, out: 12, cached: 0 },
  }
  const ackKey = acknowledgementKey(key)
  const seal = (part: 'head' | 'end', said: Acknowledgement) => {
    const { before, after } = textFromAcknowledgement(said)
    const name = part === 'head' ? 'x-layer-ack' : 'x-layer-ack-end'
    const input = `${name}\n${replayIdentity(context)}\n${pol}\n${before}${after}`
    return { macInput: input, value: sealAcknowledgement(said, context, { part, key: ackKey }) }
  }
  return {
    key: { kid: 'k1', alg: 'HS256', secretHex: secret.toString('hex') },
    capabilities: {
      document: capabilities,
      canonical: canonicalJson({ ...capabilities, boot: undefined, caps: undefined, load: undefined }),
    },
    policy: {
      document: policy,
      canonical: canonicalJson(policy),
      digest: pol,
      put: sealPolicy(policy, carrier, key),
      question: sealPolicyQuestion(pol, carrier, key),
    },
    call: { body, [credentialHeader]: credential },
    context: {
      payload: JSON.stringify(context),
      header: signJws(JSON.stringify(context), key, 'exec-ctx+jws'),
      replayIdentity: replayIdentity(context),
    },
    acknowledgement: {
      keyHex: key.derive('x-layer-ack').toString('hex'),
      essence: canonicalJson(essence),
      head: seal('head', head),
      end: seal('end', end),
    },
    ...ed25519(JSON.stringify({ ...context }), { context, pol, head }),
  }
}

interface Signed {
  readonly context: ReturnType<typeof createContext>
  readonly pol: string
  readonly head: Acknowledgement
}

/** The same context and acknowledgement where the gateway's key and the runner's are Ed25519 pairs. */
function ed25519(payload: string, { context, head }: Signed) {
  const gateway = createSigningKey({ kid: 'p1', alg: 'EdDSA', privateKey: pemOf(Buffer.alloc(32, 1)) })
  const runner = createSigningKey({ kid: 'ack', alg: 'EdDSA', privateKey: pemOf(Buffer.alloc(32, 2)) })
  return {
    ed25519: {
      gatewaySeedHex: '01'.repeat(32),
      header: signJws(payload, gateway, 'exec-ctx+jws'),
      runnerSeedHex: '02'.repeat(32),
      acknowledgement: sealAcknowledgement(head, context, { part: 'head', key: runner }),
    },
  }
}

function pemOf(seed: Buffer): string {
  const der = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), seed])
  return `-----BEGIN PRIVATE KEY-----\n${der.toString('base64')}\n-----END PRIVATE KEY-----\n`
}
