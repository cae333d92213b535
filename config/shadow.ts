import type { JsonSchema } from '../plugins/schema.ts'
import { addedHeaders, entry, integer, list, milliseconds, oneOf, optionalText, ratio, section, text } from './field.ts'

/** A difference that somebody has looked at and answers for: it is counted apart until it expires. */
export interface IgnoredDifference {
  /** A layer, or `*`. */
  readonly layer: string
  /** Over the paths that the command `diff` prints: `*` stands for anything but a dot, `**` for anything. */
  readonly pathPattern: string
  readonly class: 'H' | 'S' | 'N' | 'P' | 'T'
  readonly reason: string
  readonly owner: string
  /** A day, then its end (UTC), or an instant in ISO 8601. */
  readonly expires: string
}

/** The chain that a team has had so far, while it still serves. */
export interface LegacyConfig {
  /** Base URL; the path of a call is put behind it. */
  readonly url: string
  /** Headers added to every call to it. */
  readonly headers: Readonly<Record<string, string>>
  /** File with a key that is sent as `Authorization: Bearer` in place of what the caller sent; null: the caller's own goes on. */
  readonly apiKeyFile: string | null
  /** PEM file of the authorities of its certificate; null: the system's. */
  readonly caFile: string | null
  readonly connectTimeoutMs: number
  readonly firstByteTimeoutMs: number
  readonly idleTimeoutMs: number
}

/** How the two halves of layers are compared, beside the calls. */
export interface ShadowConfig {
  /** Share of calls whose two halves are compared. */
  readonly sample: number
  /** Share of calls that are answered twice more, the old way and the new, while a layer moves. */
  readonly endToEndSample: number
  /** Copies of calls under way at a time. */
  readonly maxInflight: number
  readonly similarity: {
    readonly kind: 'lexical' | 'embeddings' | 'sentences'
    /** The runner and the model that make embeddings. */
    readonly runner: string | null
    readonly model: string | null
    /** Texts at least so alike are shown as alike. It decides nothing. */
    readonly display: number
  }
  readonly ignore: readonly IgnoredDifference[]
  /** Null: Foldgate itself serves. */
  readonly legacy: LegacyConfig | null
}

const short = (description: string): JsonSchema => ({ ...text(description), maxLength: 256 })

const ignored: JsonSchema = entry(
  {
    layer: short('The layer that differs, or *.'),
    pathPattern: short('Where: a path as the command diff prints it. * is anything but a dot, ** anything.'),
    class: oneOf('H hard, S structure, N numbers, P presence, T text.', ['H', 'S', 'N', 'P', 'T']),
    reason: short('Why it may differ.'),
    owner: short('Who answers for it.'),
    expires: text(
      'Until when: a day (its end, UTC) or an instant in ISO 8601.',
      '^\\d{4}-\\d{2}-\\d{2}(T\\d{2}:\\d{2}(:\\d{2}(\\.\\d+)?)?(Z|[+-]\\d{2}:\\d{2}))?$',
    ),
  },
  ['layer', 'pathPattern', 'class', 'reason', 'owner', 'expires'],
)

const legacy: JsonSchema = {
  ...entry(
    {
      url: text('Base URL, http or https; the path of a call is put behind it.', '^https?://[^/?#\\s@]+[^?#\\s]*$'),
      headers: addedHeaders(),
      apiKeyFile: optionalText("File with a key sent as Authorization: Bearer; null: the caller's own goes on."),
      caFile: optionalText("PEM file of the authorities of its certificate; null: the system's."),
      connectTimeoutMs: milliseconds('How long connecting may take.', 1_000),
      firstByteTimeoutMs: milliseconds('How long it may think before the first byte of an answer.', 600_000),
      idleTimeoutMs: milliseconds('How long it may be silent inside an answer.', 120_000),
    },
    ['url'],
  ),
  type: ['object', 'null'],
  description:
    'The chain that serves so far: calls are sent on to it as they came, it answers, and Foldgate only says how far it agrees. null: Foldgate serves.',
  default: null,
}

/** The section `folding.shadow`. */
export const shadowSchema: JsonSchema = section('How the two halves of layers are compared, beside the calls.', {
  sample: ratio('Share of calls whose two halves are compared, once the answer has left.', 1),
  endToEndSample: ratio(
    'Share of calls that the runner answers twice more, the old way and the new, while a layer moves.',
    0.01,
  ),
  maxInflight: integer('Copies of calls under way at a time; others are dropped and counted.', 8, {
    minimum: 1,
    maximum: 1_000,
  }),
  similarity: section('How alike two texts are.', {
    kind: oneOf(
      'lexical: by their words. embeddings: by the vectors of a runner’s model. sentences: by those of a small English model in the gateway, from optional packages.',
      ['lexical', 'embeddings', 'sentences'],
      'lexical',
    ),
    runner: optionalText('Name of the runner that makes embeddings.'),
    model: optionalText('The model that makes embeddings.'),
    display: ratio('Texts at least so alike are shown as alike. It decides nothing.', 0.98),
  }),
  ignore: list('Differences that somebody answers for, counted apart until they expire.', ignored),
  legacy,
})
