import { randomFillSync } from 'node:crypto'

/** Where a call stands in a trace (W3C Trace Context, level 2). */
export interface TraceContext {
  /** 32 lower-case hex digits, not all zero. */
  readonly traceId: string
  /** 16 lower-case hex digits, not all zero. */
  readonly spanId: string
  /** Bit 0: sampled. Bit 1: the trace id is random. No others. */
  readonly flags: number
}

/** The bit of the flags that says that the trace is recorded. */
export const sampledFlag = 1

const knownFlags = 0x03
const pattern = /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(-[^,]*)?$/
const zeros = /^0+$/

/** A `traceparent` header's context; undefined when it is absent, malformed, all zero or there twice: a new trace begins then. */
export function contextFromTraceparent(header: string | undefined): TraceContext | undefined {
  if (header === undefined || header.length > 512) return undefined
  const [, version, traceId = '', spanId = '', flags = '', rest] = pattern.exec(header) ?? []
  if (version === undefined || version === 'ff') return undefined
  // Only a later version may say more than we understand.
  if (version === '00' && rest !== undefined) return undefined
  if (zeros.test(traceId) || zeros.test(spanId)) return undefined
  return { traceId, spanId, flags: Number.parseInt(flags, 16) & knownFlags }
}

/** A context as a `traceparent` header, version 00. */
export function traceparentFromContext({ traceId, spanId, flags }: TraceContext): string {
  return `00-${traceId}-${spanId}-0${flags}`
}

const member = /^[ \t]*[a-z\d][a-z\d_\-*/@]{0,255}=[ -+\--<>-~]{1,256}[ \t]*$/

/** A `tracestate` header that is well formed and at most 512 characters long, as it came; else undefined. Other vendors' state only: we add none. */
export function tracestateFrom(header: string | undefined): string | undefined {
  if (header === undefined || header.length > 512) return undefined
  const members = header.split(',').filter((each) => each.trim() !== '')
  if (members.length === 0 || members.length > 32) return undefined
  return members.every((each) => member.test(each)) ? header : undefined
}

const pool = Buffer.alloc(4096)
let used = pool.length

/** `bytes` random bytes as hex, not all zero. Drawn from the system a few kilobytes at a time. */
function randomHex(bytes: number): string {
  if (used + bytes > pool.length) {
    randomFillSync(pool)
    used = 0
  }
  used += bytes
  const id = pool.toString('hex', used - bytes, used)
  return zeros.test(id) ? randomHex(bytes) : id
}

/** A new trace id: 32 hex digits. */
export function newTraceId(): string {
  return randomHex(16)
}

/** A new span id: 16 hex digits. */
export function newSpanId(): string {
  return randomHex(8)
}
