import { hash } from 'node:crypto'
import {
  type ContextFacts,
  type ContextModes,
  factsSchema,
  type LayerReads,
  maxReadsBytes,
  modesSchema,
  readsSchema,
} from './execution-context-facts.ts'
import { createSchema, type JsonSchema, sayFault } from './schema.ts'

/** What goes with one call from gateway to runner: whose it is, under which policy, which layers act, and what they need to know. */
export interface ExecutionContext {
  readonly v: 1
  /** 128 random bits in hex, minted for this call. */
  readonly id: string
  /** 1 for the first send of this call; every further send raises it. */
  readonly attempt: number
  /** A copy made for comparison: no outside effect, no bill, state apart. */
  readonly shadow: boolean
  /** Id of the gateway. */
  readonly iss: string
  /** Boot id of the instance it is for. */
  readonly aud: string
  /** When it was made, and when it ends: whole seconds since the epoch (RFC 7519 §4.1). */
  readonly iat: number
  readonly exp: number
  /** The call's one instant, in milliseconds since the epoch. */
  readonly now: number
  /** Digest of the policy: SHA-256 in lower-case hex, as in URLs, logs and commands. */
  readonly pol: string
  /** SHA-256 of the body's bytes, in base64url. */
  readonly bod: string
  /** SHA-256 of the caller's credential, in base64url; present exactly when the credential travels. */
  readonly crd?: string
  readonly modes: ContextModes
  readonly facts: ContextFacts
  readonly reads?: Readonly<Record<string, LayerReads>>
}

/** Largest context, in bytes of the header's value. */
export const maxContextBytes = 4_096
/** How long a context is valid by default, and at most, in seconds. */
export const contextLifetime = { defaultSeconds: 10, maxSeconds: 60 } as const
/** How far apart the two clocks may be, in seconds. */
export const clockSkewSeconds = 30

/** A digest in lower-case hex. */
export const hexDigestPattern = '^[0-9a-f]{64}$'
const base64urlDigest: JsonSchema = { type: 'string', pattern: '^[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$' }
const seconds: JsonSchema = { type: 'integer', minimum: 0, maximum: 253_402_300_799 }

/** The members that say from whom, for whom and until when; contexts and policy carriers share them. */
export const claimSchemas: Readonly<Record<'iss' | 'aud' | 'iat' | 'exp', JsonSchema>> = {
  iss: { type: 'string', pattern: '^[A-Za-z0-9._:/-]{1,128}$', description: 'Id of the gateway.' },
  aud: { type: 'string', pattern: '^[A-Za-z0-9._:-]{1,64}$', description: 'Boot id of the instance it is for.' },
  iat: { ...seconds, description: 'When it was made, in seconds since the epoch.' },
  exp: { ...seconds, description: 'When it ends: 10 s after iat by default, at most 60.' },
}

/** The context as published and as checked. */
export const contextSchema: JsonSchema = {
  title: 'Execution context',
  description: 'Payload of the JWS in the header x-execution-context, whose value has at most 4096 bytes.',
  type: 'object',
  additionalProperties: false,
  required: ['v', 'id', 'attempt', 'shadow', 'iss', 'aud', 'iat', 'exp', 'now', 'pol', 'bod', 'modes', 'facts'],
  properties: {
    v: { const: 1 },
    id: { type: 'string', pattern: '^[0-9a-f]{32}$', description: '128 random bits, minted per call.' },
    attempt: { type: 'integer', minimum: 1, maximum: 1_000, description: 'Raised by every send of the call.' },
    shadow: { type: 'boolean', description: 'A copy for comparison: no outside effect, no bill, state apart.' },
    ...claimSchemas,
    now: { type: 'integer', minimum: 0, maximum: 253_402_300_799_999, description: 'The call’s one instant, in ms.' },
    pol: { type: 'string', pattern: hexDigestPattern, description: 'Digest of the policy, in hex.' },
    bod: { ...base64urlDigest, description: 'SHA-256 of the body, in base64url.' },
    crd: { ...base64urlDigest, description: 'SHA-256 of x-caller-credential, exactly when that travels.' },
    modes: modesSchema,
    facts: factsSchema,
    reads: readsSchema,
  },
}
const contexts = createSchema<ExecutionContext>(contextSchema)

/** What is wrong with the shape of a context, in words; undefined when nothing is. */
export function contextFault(value: unknown): string | undefined {
  const [fault] = contexts.faults(value)
  return fault ? sayFault(fault) : readsFault(value as ExecutionContext)
}

function readsFault({ reads, modes }: ExecutionContext): string | undefined {
  if (reads === undefined) return undefined
  const deciding = Object.keys(reads).find((layer) => modes[layer] !== 'observe')
  if (deciding !== undefined) return `reads.${deciding}: the layer does not observe`
  return Buffer.byteLength(JSON.stringify(reads)) > maxReadsBytes
    ? `reads: more than ${maxReadsBytes} bytes`
    : undefined
}

/** What a context is made of; digests and times are worked out. */
export interface ContextInit extends Omit<ExecutionContext, 'v' | 'iat' | 'exp'> {
  /** The instant of this send, in milliseconds since the epoch. */
  readonly sentAtMs: number
  /** Default 10, at most 60. */
  readonly lifetimeSeconds?: number
}

/** Makes the context of one send. */
export function createContext(init: ContextInit): ExecutionContext {
  const { id, attempt, shadow, iss, aud, now, pol, bod, crd, modes, facts, reads } = init
  const { sentAtMs, lifetimeSeconds = contextLifetime.defaultSeconds } = init
  const iat = Math.floor(sentAtMs / 1_000)
  const exp = iat + lifetimeSeconds
  // Written out, since every call makes one: taking the init apart and together again costs more than all its members.
  if (reads === undefined && crd === undefined)
    return { v: 1, id, attempt, shadow, iss, aud, now, pol, bod, modes, facts, iat, exp }
  if (reads === undefined)
    return { v: 1, id, attempt, shadow, iss, aud, now, pol, bod, crd: crd as string, modes, facts, iat, exp }
  const credential = crd === undefined ? {} : { crd }
  return { v: 1, id, attempt, shadow, iss, aud, now, pol, bod, ...credential, modes, facts, reads, iat, exp }
}

/** SHA-256 of a body's bytes, in base64url: the member `bod`. */
export function bodyDigest(body: Buffer): string {
  return hash('sha256', body, 'base64url')
}

/** SHA-256 of a credential as its header carries it, in base64url: the member `crd`. */
export function credentialDigest(credential: string): string {
  // Node gives header values as one character a byte.
  return hash('sha256', Buffer.from(credential, 'latin1'), 'base64url')
}
