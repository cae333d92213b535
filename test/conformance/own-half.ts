import { essenceDigest } from '../../plugins/acknowledgement.ts'
import { type Call, createCall, type Facts, type Principal } from '../../plugins/call.ts'
import { textFromCredentials } from '../../plugins/caller-credential.ts'
import { contextFactsFromCall } from '../../plugins/context-call.ts'
import { gatewayErrorFrom } from '../../plugins/errors.ts'
import type { Seat } from '../../plugins/host.ts'
import { createInsideDigest } from '../../plugins/inside-digest.ts'
import { type Layer, type NativeContract, type Probe, probeModel, wholeVerdict } from '../../plugins/layer.ts'
import { createTokenEstimator } from '../../plugins/token-estimator.ts'
import { pass, refuse, type Verdict } from '../../plugins/verdict.ts'
import { createTestHost } from '../support/host.ts'
import type { LawCase } from './laws.ts'

const nobody: Principal = { id: 'probe', tenant: 'probe', tier: '', scopes: [], claims: {}, method: 'api-key' }

/** A probe of a layer as a runner is asked it, with the essence of our own half's verdict. */
export async function lawCaseOf(layer: Layer, probe: Probe): Promise<LawCase> {
  const native = layer.native as NativeContract
  const { title, route = 'chat', step, body, headers = {}, reads, expect } = probe
  const call = callOf(layer, probe)
  const credential = textFromCredentials(headers, native.credentials?.(step) ?? [])
  const facts = contextFactsFromCall(call, {
    principal: layer.reads.includes('principal'),
    claims: native.claims?.(step) ?? [],
    headers: native.headers?.(step) ?? [],
  })
  const essence = await essenceOf(native, probe, call)
  return {
    title,
    route,
    now: call.now,
    step: step as LawCase['step'],
    body: body as LawCase['body'],
    facts,
    ...(credential === undefined ? {} : { credential }),
    ...(reads === undefined ? {} : { reads }),
    expect: { ...expect, essence, e: essenceDigest(essence) },
  }
}

function callOf(layer: Layer, { route = 'chat', body, headers = {}, principal, now = 1_900_000_000_000 }: Probe): Call {
  const facts: Partial<Facts> = {
    // An address of documentation (RFC 5737).
    client_ip: '192.0.2.1',
    ...(layer.reads.includes('principal') ? { principal: { ...nobody, ...principal } } : {}),
  }
  const { signal } = new AbortController()
  return createCall({ id: '0'.repeat(32), route, now, body: Buffer.from(JSON.stringify(body)), headers, facts, signal })
}

async function essenceOf(native: NativeContract, { step, reads }: Probe, call: Call): Promise<unknown> {
  const host = createTestHost({ tokens: createTokenEstimator(), conversationHeader: 'x-conversation-id' })
  const seat: Seat = Object.assign(host, {
    side: 'runner' as const,
    declared: new Set<string>(),
    models: [probeModel],
    runners: { names: everyName, state: () => atRest, ask: async () => '' },
    allows: () => true,
    has: () => false,
    insideDigest: createInsideDigest([], new Map()),
  })
  const acting = await native.act(step, seat)
  try {
    const verdict = await Promise.resolve()
      .then((): Verdict | Promise<Verdict> => acting.decide?.(call, 'observe', reads) ?? pass())
      .catch((reason: unknown) => refuse(gatewayErrorFrom(reason)))
    return native.essence ? native.essence(verdict, call) : wholeVerdict(verdict)
  } finally {
    acting.release?.(call)
    await acting.close?.()
    host.end()
  }
}
const everyName: readonly string[] = Object.assign([], { includes: () => true })
const atRest = { available: true, retryAfterMs: 0, outstandingTokens: 0 } as const
