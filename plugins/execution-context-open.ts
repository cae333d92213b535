import { timingSafeEqual } from 'node:crypto'
import {
  bodyDigest,
  clockSkewSeconds,
  contextFault,
  credentialDigest,
  type ExecutionContext,
  maxContextBytes,
} from './execution-context.ts'
import { type ClaimsExpected, claimsRefusal } from './execution-context-claims.ts'
import type { ContextRefusal, RefusalCode } from './execution-context-refusal.ts'
import { verifyJws } from './jws.ts'
import { jsonObjectFromBytes } from './jws-json.ts'
import type { KeyRing } from './jws-key.ts'
import type { ReplaySet } from './replay-set.ts'

/** A policy that an instance has compiled: the version of each layer's step it can execute. */
export interface KnownPolicy {
  readonly versions: ReadonlyMap<string, number>
}

/** What a context is held against: what the instance knows, and what came with the call. */
export interface ContextOpening extends ClaimsExpected {
  readonly keys: KeyRing
  /** The bytes of the request body. */
  readonly body: Buffer
  /** The value of `x-caller-credential`, if it came. */
  readonly credential?: string
  readonly replay: ReplaySet
  /** The policies that are registered, by digest. */
  readonly policies: { get(digest: string): KnownPolicy | undefined }
  /** The layers that this instance executes, each with the version of its steps. */
  readonly layers: ReadonlyMap<string, number>
  /** At most and by default 4,096. */
  readonly maxBytes?: number
}

/** A context that passed every check, or the first check it failed. */
export type OpenedContext =
  | { readonly ok: true; readonly context: ExecutionContext; readonly kid: string }
  | { readonly ok: false; readonly refusal: ContextRefusal }

/**
 * Checks the value of `x-execution-context`, in this order: there at all, size, JWS form, key and algorithm, signature, audience, times,
 * schema, body digest, replay, credential digest, policy known, layers and versions. The first that fails names the code. A payload that
 * is no JSON object is `invalid` as soon as it is read, after the signature. Nothing is thrown.
 */
export function openContext(header: string | undefined, opening: ContextOpening): OpenedContext {
  if (!header) return refused('missing', 'the header x-execution-context is not there')
  const most = Math.min(opening.maxBytes ?? maxContextBytes, maxContextBytes)
  if (header.length > most) return refused('too-large', `${header.length} bytes; at most ${most} are taken`)
  const jws = verifyJws(header, 'exec-ctx+jws', opening.keys)
  if (!jws.ok) return refused(jws.fault === 'form' ? 'invalid' : 'signature', jws.detail)
  const payload = jsonObjectFromBytes(jws.payload)
  if (!payload) return refused('invalid', 'the payload is not one JSON object without repeated members')
  const early = claimsRefusal(payload, opening)
  if (early) return { ok: false, refusal: early }
  const fault = contextFault(payload)
  if (fault !== undefined) return refused('invalid', fault)
  const context = payload as unknown as ExecutionContext
  const refusal = bodyRefusal(context, opening) ?? replayRefusal(context, opening) ?? rightsRefusal(context, opening)
  return refusal ? { ok: false, refusal } : { ok: true, context, kid: jws.kid }
}

function refused(code: RefusalCode, detail: string): OpenedContext {
  return { ok: false, refusal: { code, detail } }
}

function bodyRefusal({ bod }: ExecutionContext, { body }: ContextOpening): ContextRefusal | undefined {
  return bodyDigest(body) === bod ? undefined : { code: 'body', detail: 'bod is not the digest of the body' }
}

function replayRefusal(context: ExecutionContext, { replay, now }: ContextOpening): ContextRefusal | undefined {
  const recorded = replay.record(replayIdentity(context), (context.exp + clockSkewSeconds) * 1_000, now)
  if (recorded === 'fresh') return undefined
  return recorded === 'seen'
    ? { code: 'replay', detail: 'this send of the call was taken before' }
    : { code: 'no-capacity', detail: 'too many calls are remembered' }
}

/** What tells one send from another: the call, the attempt, and whether it is the copy. */
export function replayIdentity({ id, attempt, shadow }: Pick<ExecutionContext, 'id' | 'attempt' | 'shadow'>): string {
  return `${id}.${attempt}.${shadow ? 1 : 0}`
}

function rightsRefusal(context: ExecutionContext, opening: ContextOpening): ContextRefusal | undefined {
  if (!sameCredential(context.crd, opening.credential))
    return { code: 'credential', detail: 'crd is not the digest of x-caller-credential' }
  const policy = opening.policies.get(context.pol)
  if (!policy) return { code: 'policy-unknown', detail: `policy ${context.pol} is not registered` }
  return layersRefusal(context, policy, opening.layers)
}

/** A credential that nobody signed for is as wrong as one that was exchanged. */
function sameCredential(crd: string | undefined, credential: string | undefined): boolean {
  if (crd === undefined || credential === undefined) return crd === credential
  return timingSafeEqual(Buffer.from(crd), Buffer.from(credentialDigest(credential)))
}

function layersRefusal(
  { modes }: ExecutionContext,
  { versions }: KnownPolicy,
  layers: ReadonlyMap<string, number>,
): ContextRefusal | undefined {
  const named = Object.keys(modes)
  const strange = named.find((layer) => !layers.has(layer) || !versions.has(layer))
  if (strange !== undefined) return unsupported(strange, 'unsupported-layer')
  const other = named.find((layer) => layers.get(layer) !== versions.get(layer))
  return other === undefined ? undefined : unsupported(other, 'unsupported-version')
}

function unsupported(layer: string, reason: 'unsupported-layer' | 'unsupported-version'): ContextRefusal {
  const what = reason === 'unsupported-layer' ? 'is not executed here under this policy' : 'is of another version here'
  return { code: 'unsupported', detail: `${layer} ${what}`, layer, reason }
}
