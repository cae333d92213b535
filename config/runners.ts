import type { JsonSchema } from '../plugins/schema.ts'
import { addedHeaders, entry, integer, milliseconds, oneOf, optionalText, ratio, section, text } from './field.ts'

/** What kind of runner it is: ours, which executes folded layers, or any server with the OpenAI API. */
export type RunnerKind = 'native' | 'openai'

/** TLS towards a runner. */
export interface RunnerTls {
  /** PEM file of the authorities that its certificate is checked against; null: the system's. */
  readonly caFile: string | null
  /** PEM files of the certificate and key that the gateway shows it (mTLS). */
  readonly certFile: string | null
  readonly keyFile: string | null
  /** Name that its certificate must have; null: the one in the URL. */
  readonly serverName: string | null
}

/** One runner: where it is and how patient the gateway is with it. Durations in milliseconds. */
export interface RunnerConfig {
  readonly name: string
  readonly kind: RunnerKind
  /** Base URL; a final `/v1` is optional. */
  readonly url: string
  readonly tls: RunnerTls
  /** Sent as `Authorization: Bearer` on every call that bears no execution context. */
  readonly apiKeyFile: string | null
  /** Public key (PEM) that its acknowledgements are signed with, where contexts are signed with EdDSA. */
  readonly ackKeyFile: string | null
  /** Headers added to every call to it. */
  readonly headers: Readonly<Record<string, string>>
  readonly connectTimeoutMs: number
  readonly firstByteTimeoutMs: number
  readonly idleTimeoutMs: number
  readonly keepAliveMs: number
  /** 0: as many as there are calls. */
  readonly maxConnections: number
  /** Largest event of a stream, in bytes. */
  readonly maxEventBytes: number
  /** Times a call is sent at most, the first time included. */
  readonly maxAttempts: number
  /** Retries as a share of calls that are never exceeded for long. */
  readonly retryBudgetRatio: number
  /** Consecutive failures after which it gets no calls for `ejectMs`. */
  readonly ejectAfter: number
  readonly ejectMs: number
  /** Whether streams are asked to report usage: where a layer needs it, or never. */
  readonly includeUsage: 'auto' | 'never'
}

const tls: JsonSchema = section('TLS towards the runner.', {
  caFile: optionalText("PEM file of the authorities of its certificate; null: the system's."),
  certFile: optionalText('PEM file of the certificate that the gateway shows it (mTLS).'),
  keyFile: optionalText('PEM file of the key of that certificate.'),
  serverName: optionalText('Name that its certificate must have; null: the one in the URL.'),
})

const runner: JsonSchema = entry(
  {
    name: text('Name by which routing, metrics and commands call it.', '^[a-z0-9][a-z0-9._-]{0,62}$'),
    kind: oneOf(
      'native: the Foldgate runner. openai: every server with the OpenAI API (vLLM, SGLang, llama-server, Ollama, hosted).',
      ['native', 'openai'],
    ),
    url: text('Base URL, http or https; a final /v1 is optional.', '^https?://[^/?#\\s]+[^?#\\s]*$'),
    tls,
    apiKeyFile: optionalText(
      'File with the key sent as Authorization: Bearer on every call without an execution context.',
    ),
    ackKeyFile: optionalText('PEM file of the public key that its acknowledgements are signed with (EdDSA).'),
    headers: addedHeaders(),
    connectTimeoutMs: milliseconds('How long connecting may take.', 1_000),
    firstByteTimeoutMs: milliseconds('How long it may think before the first byte of an answer.', 600_000),
    idleTimeoutMs: milliseconds('How long it may be silent inside an answer.', 120_000),
    keepAliveMs: milliseconds('How long an idle connection to it is kept; less than its own idle timeout.', 4_000),
    maxConnections: integer('Connections to it at most; calls beyond wait. 0: as many as there are calls.', 1_024, {
      minimum: 0,
      maximum: 65_535,
    }),
    maxEventBytes: integer('Largest event of a stream, in bytes; a larger one is a protocol error.', 16_777_216, {
      minimum: 1_024,
      maximum: 268_435_456,
    }),
    maxAttempts: integer('Times a call is sent at most, the first time included.', 2, { minimum: 1, maximum: 10 }),
    retryBudgetRatio: ratio('Share of calls that may be retries.', 0.2),
    ejectAfter: integer('Consecutive failures after which it gets no calls for a while.', 3, {
      minimum: 1,
      maximum: 1_000,
    }),
    ejectMs: milliseconds('How long it then gets no calls, before one probes it.', 5_000),
    includeUsage: oneOf(
      'auto: streams are asked to report token usage where a layer needs it. never: for servers that refuse stream_options.',
      ['auto', 'never'],
      'auto',
    ),
  },
  ['name', 'kind', 'url'],
)

/** The `runners` section. At least one runner is needed. */
export const runnersSchema: JsonSchema = {
  type: 'array',
  description: 'The runners: model servers that answer the calls. At least one.',
  items: runner,
  default: [],
  maxItems: 1_000,
}
