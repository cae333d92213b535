import { createSchema, type JsonSchema } from '../../../plugins/schema.ts'
import { stageNames } from '../../../plugins/stage.ts'
import type { OwnCount } from './counting.ts'
import type { StageDocument, Trips } from './document.ts'

/** A state without its trips: those travel apart, each until it is confirmed. */
export type BareDocument = Omit<StageDocument, 'tripped'>

/** A change that was accepted and may or may not have been taken by most. */
export interface Pending {
  /** The fence that it was proposed with. */
  readonly fence: number
  readonly document: BareDocument
}

/**
 * What one replica says to another. `tell`: what it knows, and what of it the other may not. `claim`: it wants to lead, with this fence.
 * `propose`: as the leader, it wants this state to be the next.
 */
export type PeerMessage =
  | {
      readonly kind: 'tell'
      readonly rev: number
      readonly document?: BareDocument
      readonly trips: Trips
      /** Of the names of all trips that it knows, so that the other can tell whether it knows more. */
      readonly digest: string
      readonly counts: readonly OwnCount[]
      /** From a leader: what was pending under an earlier fence than this is void. */
      readonly settled?: number
    }
  | { readonly kind: 'claim'; readonly fence: number }
  | { readonly kind: 'propose'; readonly fence: number; readonly document: BareDocument }

/** What comes back. */
export interface PeerAnswer {
  /** Taken over, promised or accepted. */
  readonly ok: boolean
  readonly rev: number
  /** The highest fence that it has promised. */
  readonly fence: number
  /** Its state, where the asker's is older or was asked for. */
  readonly document?: BareDocument
  readonly pending?: Pending
  /** Trips that the asker does not know, or that stand against what it proposes. */
  readonly trips?: Trips
}

const text = (maxLength = 2_000): JsonSchema => ({ type: 'string', maxLength })
const count: JsonSchema = { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER }
const record = (properties: Readonly<Record<string, JsonSchema>>, optional: readonly string[] = []): JsonSchema => ({
  type: 'object',
  required: Object.keys(properties).filter((name) => !optional.includes(name)),
  properties,
})
const layer = record({
  stage: { enum: [...stageNames] },
  weights: { type: 'object', additionalProperties: { type: 'integer', minimum: 0, maximum: 10_000 } },
  rolloutId: text(64),
  gen: count,
  salt: text(256),
  cfgHash: text(256),
  artifactDigest: text(256),
  startedAt: count,
  held: { type: 'boolean' },
  reason: text(),
  actor: text(),
})
const notes: JsonSchema = { type: 'object', additionalProperties: text(30_000) }
const document = record({ rev: count, hold: text(), layers: { type: 'object', additionalProperties: layer }, notes }, [
  'notes',
])
const trips: JsonSchema = {
  type: 'object',
  additionalProperties: record({ layer: text(64), gen: count, reason: text(), actor: text(), at: count }),
}
const pending = record({ fence: count, document })
const counts: JsonSchema = {
  type: 'array',
  maxItems: 256,
  items: record({ rolloutId: text(64), stage: text(64), counters: { type: 'object' }, seq: count }),
}
const kind = (name: string): JsonSchema => ({ const: name })

/** The shape of a {@link PeerMessage}. */
export const peerMessageSchema = createSchema<PeerMessage>({
  type: 'object',
  oneOf: [
    record({ kind: kind('tell'), rev: count, document, trips, digest: text(64), counts, settled: count }, [
      'document',
      'settled',
    ]),
    record({ kind: kind('claim'), fence: count }),
    record({ kind: kind('propose'), fence: count, document }),
  ],
})

/** The shape of a {@link PeerAnswer}. */
export const peerAnswerSchema = createSchema<PeerAnswer>(
  record({ ok: { type: 'boolean' }, rev: count, fence: count, document, pending, trips }, [
    'document',
    'pending',
    'trips',
  ]),
)
