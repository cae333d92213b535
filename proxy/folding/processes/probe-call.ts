import { type Call, createCall, type Facts, type Principal } from '../../../plugins/call.ts'
import { textFromCredentials } from '../../../plugins/caller-credential.ts'
import type { Capabilities } from '../../../plugins/capabilities.ts'
import { contextFactsFromCall } from '../../../plugins/context-call.ts'
import {
  bodyDigest,
  createContext,
  credentialDigest,
  type ExecutionContext,
} from '../../../plugins/execution-context.ts'
import type { Layer, Probe } from '../../../plugins/layer.ts'
import { type FoldedPolicy, foldedFrom } from '../policies.ts'
import type { Wire } from './wire.ts'

/** The instant of probes that name none, in milliseconds since the epoch. */
const defaultNow = 1_900_000_000_000

const nobody: Principal = { id: 'probe', tenant: 'probe', tier: '', scopes: [], claims: {}, method: 'api-key' }

/** The policy of one step that a probe is asked under. */
export function policyOfProbe({ name, native }: Layer, { route = 'chat', step }: Probe): FoldedPolicy {
  return foldedFrom(route, [{ layer: name, version: native?.version ?? 1, step }])
}

/** A probe as a call, as it would reach the layer in the gateway. */
export function callOfProbe(layer: Layer, probe: Probe, id: string): Call {
  const { route = 'chat', body, headers = {}, principal, now = defaultNow } = probe
  const facts: Partial<Facts> = {
    // An address of documentation (RFC 5737).
    client_ip: '192.0.2.1',
    ...(layer.reads.includes('principal') ? { principal: { ...nobody, ...principal } } : {}),
  }
  const bytes = Buffer.from(JSON.stringify(body))
  return createCall({ id, route, now, body: bytes, headers, facts, signal: new AbortController().signal })
}

/** A probe's call as it goes to a runner: its context, and the credential that travels beside it. */
export interface ProbeSending {
  readonly context: ExecutionContext
  readonly credential: string | undefined
}

/** What travels with a probe: only what the step reads, as with every call. */
export function sendingOfProbe(
  { layer, probe, call }: { readonly layer: Layer; readonly probe: Probe; readonly call: Call },
  digest: string,
  { wire, capabilities }: { readonly wire: Wire; readonly capabilities: Capabilities },
): ProbeSending {
  const { native, name, reads } = layer
  const credential = textFromCredentials(call.headers, native?.credentials?.(probe.step) ?? [])
  const context = createContext({
    id: call.id,
    attempt: 1,
    shadow: true,
    iss: wire.iss,
    aud: capabilities.boot,
    sentAtMs: wire.clock.now(),
    now: call.now,
    pol: digest,
    bod: bodyDigest(call.body),
    ...(credential === undefined ? {} : { crd: credentialDigest(credential) }),
    modes: { [name]: 'observe' },
    facts: contextFactsFromCall(call, {
      principal: reads.includes('principal'),
      claims: native?.claims?.(probe.step) ?? [],
      headers: native?.headers?.(probe.step) ?? [],
    }),
    ...(probe.reads === undefined ? {} : { reads: { [name]: probe.reads } }),
  })
  return { context, credential }
}
