import { jsonFromText } from './chat.ts'
import { claimSchemas, contextLifetime, hexDigestPattern } from './execution-context.ts'
import { type ClaimsExpected, claimsRefusal } from './execution-context-claims.ts'
import type { ContextRefusal, RefusalCode } from './execution-context-refusal.ts'
import { signJws, verifyJws } from './jws.ts'
import { type JsonObject, jsonObjectFromBytes } from './jws-json.ts'
import type { KeyRing, SigningKey } from './jws-key.ts'
import { type Policy, policyDigest, policyFault, policySchema } from './policy.ts'
import { createSchema, type JsonSchema, sayFault } from './schema.ts'

/** Who sends a policy, to whom, and when. */
export interface CarrierInit {
  readonly iss: string
  readonly aud: string
  /** Milliseconds since the epoch. */
  readonly now: number
  /** Default 10, at most 60. */
  readonly lifetimeSeconds?: number
}

/** What a carrier is held against. */
export interface CarrierOpening extends ClaimsExpected {
  readonly keys: KeyRing
  /** The digest that the URL names. */
  readonly digest: string
  /** Default 1,048,576 (1 MiB). */
  readonly maxBytes?: number
}

/** A policy that came whole, from somebody who holds a key; or why it is refused. */
export type OpenedPolicy =
  | { readonly ok: true; readonly policy: Policy }
  | { readonly ok: false; readonly refusal: ContextRefusal }

/** Largest carrier, in bytes. */
export const maxCarrierBytes = 1_048_576

/** The carrier's payload as published: with the policy in a `PUT`, without it in a `GET`. */
export const policyCarrierSchema: JsonSchema = {
  title: 'Policy carrier',
  description:
    'Payload of the JWS (typ exec-policy+jws) that a PUT of a policy has as its body, and a GET in x-execution-context.',
  type: 'object',
  additionalProperties: false,
  required: ['v', 'iss', 'aud', 'iat', 'exp', 'pol'],
  properties: {
    v: { const: 1 },
    ...claimSchemas,
    pol: { type: 'string', pattern: hexDigestPattern, description: 'Digest of the policy, inside the signed part.' },
    policy: policySchema,
  },
}
const carriers = createSchema<JsonObject>({
  ...policyCarrierSchema,
  properties: { ...policyCarrierSchema['properties'], policy: true },
})

/** A policy as the signed body of its `PUT`. */
export function sealPolicy(policy: Policy, init: CarrierInit, key: SigningKey): string {
  return signJws(JSON.stringify({ ...claimsFrom(init), pol: policyDigest(policy), policy }), key, 'exec-policy+jws')
}

/** The question whether a policy is registered, as the signed header `x-execution-context` of its `GET`. */
export function sealPolicyQuestion(digest: string, init: CarrierInit, key: SigningKey): string {
  return signJws(JSON.stringify({ ...claimsFrom(init), pol: digest }), key, 'exec-policy+jws')
}

/**
 * Checks the body of a `PUT`, in the order of contexts: size, JWS form, key and algorithm, signature, audience, times, schema, digest (of
 * the URL, of the signed part, and of the policy itself). Nothing is thrown.
 */
export function openPolicy(token: string, opening: CarrierOpening): OpenedPolicy {
  const payload = payloadFrom(token, opening)
  if ('code' in payload) return { ok: false, refusal: payload }
  const fault = policyFault(payload.members['policy'])
  if (fault !== undefined) return refused('invalid', `policy: ${fault}`)
  const policy = payload.members['policy'] as Policy
  const digest = policyDigest(policy)
  if (payload.members['pol'] !== opening.digest || digest !== opening.digest)
    return refused('body', 'url, pol and policy do not have one digest')
  return { ok: true, policy }
}

/** Checks the header of a `GET`, in the same order; the refusal, or undefined when the question may be answered. */
export function policyQuestionRefusal(token: string | undefined, opening: CarrierOpening): ContextRefusal | undefined {
  if (!token) return { code: 'missing', detail: 'the header x-execution-context is not there' }
  const payload = payloadFrom(token, opening)
  if ('code' in payload) return payload
  if ('policy' in payload.members) return { code: 'invalid', detail: 'policy: a question carries none' }
  return payload.members['pol'] === opening.digest ? undefined : { code: 'body', detail: 'url and pol differ' }
}

function payloadFrom(token: string, opening: CarrierOpening): ContextRefusal | { readonly members: JsonObject } {
  const most = opening.maxBytes ?? maxCarrierBytes
  if (token.length > most) return { code: 'too-large', detail: `${token.length} bytes; at most ${most} are taken` }
  const jws = verifyJws(token, 'exec-policy+jws', opening.keys)
  if (!jws.ok) return { code: jws.fault === 'form' ? 'invalid' : 'signature', detail: jws.detail }
  const members = jsonObjectFromBytes(jws.payload, jsonFromText)
  if (!members) return { code: 'invalid', detail: 'the payload is not one JSON object without repeated members' }
  const early = claimsRefusal(members, opening)
  if (early) return early
  const [fault] = carriers.faults(members)
  return fault ? { code: 'invalid', detail: sayFault(fault) } : { members }
}

function claimsFrom({ iss, aud, now, lifetimeSeconds = contextLifetime.defaultSeconds }: CarrierInit): JsonObject {
  const iat = Math.floor(now / 1_000)
  return { v: 1, iss, aud, iat, exp: iat + lifetimeSeconds }
}

function refused(code: RefusalCode, detail: string): OpenedPolicy {
  return { ok: false, refusal: { code, detail } }
}
