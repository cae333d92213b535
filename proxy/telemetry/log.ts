import pino, { type DestinationStream } from 'pino'
import type { Log } from '../../plugins/host.ts'
import type { Executor, LayerStatus, Source } from './metric-values.ts'
import { safeFields, safeText } from './redact.ts'

/** How much is said: everything from this level on. */
export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent'

/** What a log is made with. */
export interface LogOptions {
  /** Default `info`. */
  readonly level?: LogLevel
  /** A file descriptor, a file's path, or what takes one line at a time; default 1, stdout. */
  readonly destination?: number | string | DestinationStream
  /** Told when lines are given up because nobody reads them. */
  readonly onDropped?: (lines: number) => void
}

/** The ids that tie a line to a trace. */
export interface TraceIds {
  readonly traceId: string
  readonly spanId: string
}

/** One call that is over, for the access log. Nothing of it was written by the caller but the method. */
export interface AccessLine {
  /** The call's id, which the caller got as `x-request-id`. */
  readonly id: string
  readonly method: string
  /** The route's template. */
  readonly route: string
  readonly status: number
  readonly source: Source
  /** Milliseconds from the head of the request to the last byte of the answer. */
  readonly ms: number
  readonly ttftMs?: number | undefined
  readonly error?: string | undefined
  readonly runner?: string | undefined
  readonly model?: string | undefined
  readonly tenant?: string | undefined
  readonly attempts?: number | undefined
  readonly inputTokens?: number | undefined
  readonly outputTokens?: number | undefined
  readonly layers?: Readonly<Record<string, `${LayerStatus};by=${Executor}`>>
}

/** A {@link Log} whose lines carry fixed fields. */
export interface ProcessLog extends Log {
  debug(fields: Readonly<Record<string, unknown>>, message: string): void
  /** The same log with more fields on each line. */
  child(fields: Readonly<Record<string, unknown>>): ProcessLog
  /** The same log with `trace_id` and `span_id` on each line. */
  within(span: TraceIds): ProcessLog
}

/** The log of the process: one JSON object a line, without credentials and without prompt text. */
export interface GatewayLog extends ProcessLog {
  /** Says one call, at level `info`. */
  access(line: AccessLine, span?: TraceIds): void
  /** From the next line on, for this log and everything made from it. */
  setLevel(level: LogLevel): void
  readonly level: LogLevel
  /** Resolves when everything said so far has been written, or after a second in which it could not be. */
  flush(): Promise<void>
}

// What may wait for a slow reader before lines are given up, in bytes.
const mostWaiting = 4 * 1024 * 1024
const flushMs = 1000

/** Makes the {@link GatewayLog}. What waits is written when the process exits, by whatever way but a kill. */
export function createLog(options: LogOptions = {}): GatewayLog {
  const { stream, flush } = outlet(options)
  const root = pino(
    {
      level: options.level ?? 'info',
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      // Errors were made plain before they come here.
      serializers: { err: (plain: unknown) => plain },
    },
    stream,
  )
  return {
    ...logWith(root, {}),
    access(line, span) {
      if (root.isLevelEnabled('info')) root.info(accessFields(line, span), 'call')
    },
    setLevel(level) {
      root.level = level
    },
    get level() {
      return root.level as LogLevel
    },
    flush,
  }
}

interface Outlet {
  readonly stream: DestinationStream
  readonly flush: () => Promise<void>
}

function outlet({ destination = 1, onDropped }: LogOptions): Outlet {
  if (typeof destination === 'object') return { stream: destination, flush: async () => {} }
  // Lines are written as soon as the one before is out, many at a time under load, and never on the event loop.
  const stream = pino.destination({ dest: destination, sync: false, minLength: 0, maxLength: mostWaiting })
  if (onDropped) stream.on('drop', () => onDropped(1))
  const flush = (): Promise<void> =>
    new Promise((resolve) => {
      // A reader that has gone, or never reads, must not keep a process from its end.
      const timer = setTimeout(resolve, flushMs)
      stream.once('drain', () => {
        clearTimeout(timer)
        resolve()
      })
      // An empty write ends in `drain` like any other, which the stream's own flush does not wait for.
      stream.write('')
    })
  return { stream, flush }
}

function logWith(root: pino.Logger, fixed: Readonly<Record<string, unknown>>): ProcessLog {
  const say =
    (level: 'debug' | 'info' | 'warn' | 'error') => (fields: Readonly<Record<string, unknown>>, message: string) => {
      if (root.isLevelEnabled(level)) root[level]({ ...fixed, ...safeFields(fields) }, safeText(message))
    }
  return {
    debug: say('debug'),
    info: say('info'),
    warn: say('warn'),
    error: say('error'),
    child: (fields) => logWith(root, { ...fixed, ...safeFields(fields) }),
    within: (span) => logWith(root, { ...fixed, ...traceFields(span) }),
  }
}

const traceFields = ({ traceId, spanId }: TraceIds) => ({ trace_id: traceId, span_id: spanId })

function accessFields(line: AccessLine, span: TraceIds | undefined): Record<string, unknown> {
  const { id, method, route, status, source, ms, ttftMs, inputTokens, outputTokens, ...rest } = line
  return {
    ...(span && traceFields(span)),
    id,
    method,
    route,
    status,
    source,
    ms: Math.round(ms * 1000) / 1000,
    ttft_ms: ttftMs === undefined ? undefined : Math.round(ttftMs * 1000) / 1000,
    input_tokens: inputTokens,
    output_tokens: outputTokens,
    ...rest,
  }
}
