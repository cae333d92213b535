import { TextDecoder } from 'node:util'
import type { Chunk } from '../../../plugins/chat.ts'
import { createSseReader, type SseEvent, type SseReader } from '../../../plugins/sse.ts'
import { chunkFromData, isHeartbeat } from '../../../plugins/stream-state.ts'
import { type ChunkRules, createChunkRules } from './chunk-rules.ts'
import { type Breaks, type Broken, createBreaks, type Invariant } from './stream-invariant.ts'
import { mostPerStream, type StreamMemory } from './stream-memory.ts'
import { createShapeMeter, type ShapeMeter, type StreamShape } from './stream-shape.ts'

/** What a stream is held to. Milliseconds. */
export interface StreamExpectation {
  /** Its usage chunk was asked for. */
  readonly usage: boolean
  /** When it was asked for, on the same monotonic clock as everything else. */
  readonly startedAt: number
  /** The dialect ends with `[DONE]`. Default true. */
  readonly endMark?: boolean
  /** Default 60,000. */
  readonly idleMs?: number
  /** How long the call to the runner may outlive the caller. Default 1,000. */
  readonly abortMs?: number
}

/** How a stream ended. */
export type StreamEnd =
  | {
      readonly kind: 'complete'
      /** Bytes of content as the other side of the gateway counted them; absent: not compared. */
      readonly contentBytes?: number
    }
  | { readonly kind: 'failed' }
  | {
      readonly kind: 'aborted'
      /** When the caller went away, and when the call to the runner ended; undefined: it did not. */
      readonly callerAt: number
      readonly runnerAt: number | undefined
    }

/** What a stream was found to be. */
export interface StreamReport {
  readonly broken: readonly Broken[]
  /** Invariants that nothing can be said of, and why. */
  readonly unchecked: readonly { readonly invariant: Invariant; readonly reason: 'too_large' | 'not-seen' }[]
  /** It failed, or reported an error, after its first byte: what was promised was not kept, and nothing can be run again. */
  readonly streamBroken: boolean
  readonly shape: StreamShape
}

/** Looks at one stream as it goes by. Never throws. */
export interface StreamChecker {
  /** Bytes as they came, an event, or a chunk; one kind a stream. `at`: monotonic milliseconds. */
  push(part: Buffer | SseEvent | Chunk, at: number): void
  /** What is broken so far. */
  readonly broken: readonly Broken[]
  /** Once, at the end; gives its memory back. */
  end(how: StreamEnd, at: number): StreamReport
}

const defaults = { endMark: true, idleMs: 60_000, abortMs: 1_000 } as const

interface Checking {
  readonly breaks: Breaks
  readonly rules: ChunkRules
  readonly meter: ShapeMeter
  readonly expects: Required<StreamExpectation>
  /** Bytes that came are put together here. */
  reader: SseReader | undefined
  decoder: TextDecoder | undefined
  /** Events were seen, so that an end mark would have been. */
  events: boolean
  done: boolean
  tooLarge: boolean
}

/** Makes a {@link StreamChecker}: a few comparisons a chunk, and no memory but for the arguments of tool calls. */
export function createStreamInvariants(expectation: StreamExpectation, memory: StreamMemory): StreamChecker {
  const room = memory.open()
  const breaks = createBreaks()
  const checking: Checking = {
    breaks,
    rules: createChunkRules({ breaks, room, usage: expectation.usage }),
    meter: createShapeMeter(expectation.startedAt),
    expects: { ...defaults, ...expectation },
    reader: undefined,
    decoder: undefined,
    events: false,
    done: false,
    tooLarge: false,
  }
  return {
    get broken() {
      return breaks.list
    },
    push(part, at) {
      const gap = checking.meter.came(at, sizeOf(part)) ?? 0
      if (gap > checking.expects.idleMs) breaks.note('idle-gap', 'between')
      if (checking.tooLarge) return
      if (Buffer.isBuffer(part)) takeBytes(checking, part)
      else if (isEvent(part)) takeEvent(checking, part)
      else takeChunk(checking, part)
    },
    end(how, at) {
      if (checking.reader && !checking.tooLarge) finishBytes(checking, how)
      closing(checking, how, at)
      const report = reported(checking, how, at)
      room.close()
      return report
    },
  }
}

function isEvent(part: SseEvent | Chunk): part is SseEvent {
  return typeof (part as SseEvent).data === 'string' && (part as Chunk).choices === undefined
}

function sizeOf(part: Buffer | SseEvent | Chunk): number {
  if (Buffer.isBuffer(part)) return part.length
  return isEvent(part) ? Buffer.byteLength(part.data) : 0
}

function takeBytes(checking: Checking, bytes: Buffer): void {
  checking.reader ??= createSseReader(mostPerStream)
  checking.decoder ??= new TextDecoder('utf-8', { fatal: true })
  try {
    checking.decoder.decode(bytes, { stream: true })
  } catch {
    checking.breaks.note('event-parses', 'utf8')
  }
  try {
    for (const event of checking.reader.push(bytes).events) takeEvent(checking, event)
  } catch {
    // One event outgrew what a stream may keep.
    checking.tooLarge = true
  }
}

/** What was left without its blank line: a client throws it away. */
function finishBytes(checking: Checking, { kind }: StreamEnd): void {
  try {
    checking.decoder?.decode()
  } catch {
    if (kind === 'complete') checking.breaks.note('event-parses', 'utf8')
  }
  try {
    const left = checking.reader?.end().events ?? []
    if (left.length > 0 && kind === 'complete') checking.breaks.note('event-parses', 'unfinished')
  } catch {
    checking.tooLarge = true
  }
}

function takeEvent(checking: Checking, event: SseEvent): void {
  const { breaks, expects } = checking
  checking.events = true
  if (isHeartbeat(event)) return
  if (checking.done) breaks.note('end-mark', event.data === '[DONE]' ? 'twice' : 'after')
  else if (event.data === '[DONE]') {
    checking.done = true
    if (!expects.endMark) breaks.note('end-mark', 'unexpected')
  } else {
    try {
      takeChunk(checking, chunkFromData(event.data))
    } catch {
      breaks.note('event-parses', 'json')
    }
  }
}

function takeChunk({ rules, meter, breaks }: Checking, chunk: Chunk): void {
  meter.content(rules.push(chunk))
  if (chunk.choices?.some(({ delta }) => typeof delta?.content === 'string' && !delta.content.isWellFormed())) {
    breaks.note('event-parses', 'utf8')
  }
}

function closing({ breaks, rules, meter, expects, ...checking }: Checking, how: StreamEnd, at: number): void {
  const last = meter.lastAt
  if (how.kind !== 'aborted' && last !== undefined && at - last > expects.idleMs) breaks.note('idle-gap', 'end')
  if (how.kind === 'aborted') {
    if (how.runnerAt === undefined) breaks.note('abort-propagates', 'never')
    else if (how.runnerAt - how.callerAt > expects.abortMs) breaks.note('abort-propagates', 'late')
  }
  // What is missing can only be said of a stream that ended whole and could be read.
  if (how.kind !== 'complete' || rules.errored || checking.tooLarge || breaks.has('event-parses')) return
  rules.end()
  if (checking.events && expects.endMark && !checking.done) breaks.note('end-mark', 'missing')
  const { contentBytes } = how
  if (contentBytes !== undefined && contentBytes !== meter.contentBytes) {
    breaks.note('bytes-delivered', contentBytes > meter.contentBytes ? 'fewer' : 'more')
  }
}

function reported({ breaks, rules, meter, ...checking }: Checking, how: StreamEnd, at: number): StreamReport {
  const unchecked: StreamReport['unchecked'][number][] = []
  if (checking.tooLarge) unchecked.push({ invariant: 'event-parses', reason: 'too_large' })
  if (rules.tooLarge || checking.tooLarge) unchecked.push({ invariant: 'indices', reason: 'too_large' })
  if (!checking.events) unchecked.push({ invariant: 'end-mark', reason: 'not-seen' })
  const late = meter.lastAt !== undefined && (how.kind === 'failed' || rules.errored)
  return { broken: [...breaks.list], unchecked, streamBroken: late, shape: meter.shape(at) }
}
