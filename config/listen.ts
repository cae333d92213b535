import type { JsonSchema } from '../plugins/schema.ts'
import { entry, host, integer, list, milliseconds, optionalText, port, section, text } from './field.ts'

/** TLS of the data port. */
export interface ListenTls {
  /** PEM file of the certificate chain. */
  readonly certFile: string
  /** PEM file of its private key. */
  readonly keyFile: string
  /** PEM file of the authorities that client certificates are checked against; null: the system's. */
  readonly caFile: string | null
  /** Ask callers for a certificate (mTLS). */
  readonly requestClientCert: boolean
}

/** The data port: where callers send their requests. */
export interface ListenConfig {
  readonly host: string
  readonly port: number
  /** Largest request body, in bytes; a larger one is answered 413. */
  readonly bodyLimitBytes: number
  /** Addresses and networks (CIDR) whose forwarding headers are believed. */
  readonly trustedProxies: readonly string[]
  /** How long a caller may leave an answer unread before it is cut, in milliseconds. */
  readonly writeStallTimeoutMs: number
  readonly tls: ListenTls | null
  /** Path prefixes that are passed through to a runner where no route of our own answers. */
  readonly passthrough: readonly string[]
  /** A comment is sent on a stream that has been silent for so long, in milliseconds; 0: never. */
  readonly heartbeatMs: number
  /** How long a caller may take to send a whole request, in milliseconds. */
  readonly requestTimeoutMs: number
  /** How long an idle connection is kept open, in milliseconds. */
  readonly keepAliveTimeoutMs: number
  /** Largest request head, in bytes. */
  readonly maxHeaderBytes: number
}

const tls: JsonSchema = {
  ...entry(
    {
      certFile: text('PEM file of the certificate chain.'),
      keyFile: text('PEM file of its private key.'),
      caFile: optionalText("PEM file of the authorities of client certificates; null: the system's."),
      requestClientCert: { type: 'boolean', description: 'Ask callers for a certificate (mTLS).', default: false },
    },
    ['certFile', 'keyFile'],
  ),
  type: ['object', 'null'],
  description: 'TLS of the data port; null: plain HTTP.',
  default: null,
}

/** The `listen` section. */
export const listenSchema: JsonSchema = section('The data port: where callers send their requests.', {
  host: host('Address to listen on; 0.0.0.0 or :: for every one.'),
  port: port('TCP port of the data listener; 0: whichever is free.', 8080),
  bodyLimitBytes: integer('Largest request body, in bytes; a larger one is answered 413.', 33_554_432, {
    minimum: 1_024,
    maximum: 1_073_741_824,
  }),
  trustedProxies: list('Addresses and networks (CIDR) whose forwarding headers are believed.', {
    type: 'string',
    minLength: 2,
  }),
  writeStallTimeoutMs: milliseconds('How long a caller may leave an answer unread before it is cut.', 120_000),
  tls,
  passthrough: {
    ...list('Path prefixes that are passed through to a runner where no route of our own answers.', {
      type: 'string',
      pattern: '^/',
    }),
    default: ['/v1/'],
  },
  heartbeatMs: milliseconds('A comment is sent on a stream that has been silent for so long; 0: never.', 15_000, 0),
  requestTimeoutMs: milliseconds('How long a caller may take to send a whole request.', 300_000, 1_000),
  keepAliveTimeoutMs: milliseconds(
    'How long an idle connection is kept; longer than the idle timeout of a load balancer in front (often 60 s).',
    75_000,
  ),
  maxHeaderBytes: integer('Largest request head, in bytes; a larger one is answered 431.', 32_768, {
    minimum: 4_096,
    maximum: 1_048_576,
  }),
})
