import type { JsonSchema } from '../plugins/schema.ts'
import { entry, list, milliseconds, oneOf, optionalText, ratio, section, text } from './field.ts'
import { type TraceStoreConfig, traceStoreSchema } from './outside.ts'

/** How our own headers are called and what of a caller's is believed. */
export interface HeadersConfig {
  /** Prefix of every header of ours, such as `x-` or `x-anthropic-`. */
  readonly prefix: string
  /** `dictionary`: one member a layer (RFC 9651). `summary`: the least advanced state only. `plain`: plain words. */
  readonly layerStatus: 'dictionary' | 'summary' | 'plain'
  /** Keep the caller's `x-request-id` as the request id. */
  readonly trustRequestId: boolean
}

/** The `headers` section. */
export const headersSchema: JsonSchema = section('How our own headers are called.', {
  prefix: { ...text('Prefix of every header of ours.', '^[a-z][a-z0-9-]{0,40}-$'), default: 'x-' },
  layerStatus: oneOf(
    'dictionary: one member a layer. summary: the least advanced state only. plain: plain words.',
    ['dictionary', 'summary', 'plain'],
    'dictionary',
  ),
  trustRequestId: { type: 'boolean', description: "Keep the caller's x-request-id as the request id.", default: true },
})

/** Scopes that give a caller special rights; null: nobody has them. */
export interface AccessConfig {
  /** May ask for per-layer detail. */
  readonly debugScope: string | null
  /** May choose the side on which a layer runs. */
  readonly overrideScope: string | null
  /** May ask for the old per-layer headers. */
  readonly deprecatedScope: string | null
}

/** The `access` section. */
export const accessSchema: JsonSchema = section('Scopes that give a caller special rights; null: nobody has them.', {
  debugScope: optionalText('May ask for per-layer detail.'),
  overrideScope: optionalText('May choose the side on which a layer runs.'),
  deprecatedScope: optionalText('May ask for the old per-layer headers.'),
})

/** A key that execution contexts are signed with. HS256 has a `secretFile`, EdDSA a `privateKeyFile`. */
export interface SigningKeyConfig {
  readonly kid: string
  readonly alg: 'HS256' | 'EdDSA'
  /** At least 32 bytes, one trailing newline not counted. */
  readonly secretFile: string | null
  /** Ed25519 private key, PEM (PKCS #8). */
  readonly privateKeyFile: string | null
}

/** The keys of this gateway. Two are valid at once while they rotate. */
export interface SigningConfig {
  readonly keys: readonly SigningKeyConfig[]
  /** The `kid` that signs; null: the first key. */
  readonly active: string | null
}

/** The `signing` section. */
export const signingSchema: JsonSchema = section(
  'The keys that this gateway signs with and derives its secrets from.',
  {
    keys: list(
      'Keys by id; several are valid at once, for rotation.',
      entry(
        {
          kid: text('Id of the key.', '^[A-Za-z0-9._-]{1,64}$'),
          alg: oneOf('HS256: a secret shared with the runner. EdDSA: an Ed25519 key pair.', ['HS256', 'EdDSA']),
          secretFile: optionalText('File of the secret, at least 32 bytes (HS256).'),
          privateKeyFile: optionalText('PEM file of the Ed25519 private key (EdDSA).'),
        },
        ['kid', 'alg'],
      ),
    ),
    active: optionalText('The kid that signs; null: the first key.'),
  },
)

/** How this process leaves. */
export interface DrainConfig {
  /** How long it still takes new calls after it has said that it is not ready, in milliseconds. */
  readonly delayMs: number
  /** How long calls in flight may then take to end, in milliseconds. */
  readonly graceMs: number
}

/** The `drain` section. */
export const drainSchema: JsonSchema = section('How the gateway leaves: on SIGTERM and on the drain command.', {
  delayMs: milliseconds('How long it still takes new calls after readiness went away.', 5_000, 0),
  graceMs: milliseconds('How long calls in flight may then take to end before they are told to.', 30_000, 0),
})

/** Levels of the log, least first. */
export const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const

/** A level of the log. */
export type LogLevel = (typeof logLevels)[number]

/** Where spans go, and how much is logged. */
export interface TelemetryConfig {
  /** Base URL of an OTLP/HTTP collector; null: spans are not exported. */
  readonly otlpEndpoint: string | null
  /** Share of calls whose spans are exported. */
  readonly sampleRatio: number
  readonly serviceName: string
  readonly logLevel: LogLevel
  /** Asked as a second witness before a layer is promoted by itself. */
  readonly traceStore: TraceStoreConfig
}

/** The `telemetry` section. */
export const telemetrySchema: JsonSchema = section('Where spans go, and how much is logged.', {
  otlpEndpoint: {
    ...optionalText('Base URL of an OTLP/HTTP collector; null: spans are not exported.'),
    pattern: '^https?://[^\\s]+$',
  },
  sampleRatio: ratio('Share of calls whose spans are exported.', 0.1),
  serviceName: { ...text('Name of this service in telemetry.'), default: 'foldgate' },
  logLevel: oneOf('Least level that is logged.', logLevels, 'info'),
  traceStore: traceStoreSchema,
})
