import type { Chunk } from './chat.ts'
import {
  type Completion,
  chunkFromCompletion,
  chunksFromCompletion,
  completionFromChunks,
  isComplete,
} from './chunks.ts'
import {
  type Batch,
  type Bytes,
  batchesFromBytes,
  batchFromJson,
  bytesFromBatches,
  chunkFromBody,
  documentFromChunks,
} from './reply-bytes.ts'
import { pushStage, type Stage } from './reply-stages.ts'
import { splicedEvents } from './spliced-events.ts'

/** Where an answer was made: a runner on one model. Written by routing as a fact, best first. */
export interface Target {
  readonly runner: string
  readonly model: string
}

/** How an answer ended: whole; cut or failed by the runner's side; or dropped because the caller went away. */
export type Ending =
  | { readonly kind: 'complete' }
  | { readonly kind: 'failed'; readonly error: unknown }
  | { readonly kind: 'aborted' }

/** Watches an answer go by, without changing a byte. Without `chunk` nothing is parsed on its account. */
export interface Observer {
  chunk?(chunk: Chunk): void
  /** Called exactly once. */
  end?(ending: Ending): void
}

/** Changes an answer chunk by chunk. Returning the same object keeps the bytes of that event as they came. */
export interface Transform {
  /** What goes on outward in place of this chunk; undefined holds it back. A throw ends the answer with that error. */
  push(chunk: Chunk): Chunk | readonly Chunk[] | undefined
  /** What was still held back when the answer ended whole. */
  end?(): readonly Chunk[]
}

/** What the bytes of a reply are: one JSON document, server-sent events, or something we do not look into. */
export type BodyKind = 'json' | 'events' | 'opaque'

/** What a reply starts from. */
export interface ReplyInit {
  readonly status: number
  /** Outward headers, names in lower case; framing headers are the route's business. */
  readonly headers?: Readonly<Record<string, string>>
  /** What the caller asked for: true for an event stream. Other than `kind` says, the answer is converted. */
  readonly streamed: boolean
  /** The caller asked for the usage chunk of a stream. */
  readonly includeUsage?: boolean
  readonly source: 'runner' | 'cache' | 'layer'
  readonly target?: Target
  /** Longest event or JSON document that is taken apart, in bytes. */
  readonly maxBytes?: number
}

interface Source {
  readonly kind: BodyKind
  /** One of both: bytes as they came, or chunks that were made here. */
  readonly bytes?: Bytes
  readonly chunks?: readonly Chunk[]
  /** Chunks that come while another answer goes by. */
  readonly batches?: AsyncIterable<Batch>
}

/** What a copy's batches throw when the answer beside it was dropped. */
export const dropped: unique symbol = Symbol('dropped')

/** What comes back: a status, headers, and a body that is read once. It stays raw bytes until somebody asks for chunks. */
export class Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly streamed: boolean
  readonly source: ReplyInit['source']
  readonly target: Target | undefined
  readonly #init: ReplyInit
  readonly #from: Source
  readonly #stages: readonly Stage[]

  constructor(init: ReplyInit, from: Source, stages: readonly Stage[] = []) {
    this.#init = init
    this.status = init.status
    this.headers = init.headers ?? {}
    this.streamed = init.streamed
    this.source = init.source
    this.target = init.target
    this.#from = from
    this.#stages = stages
  }

  /** A 2xx answer whose content layers look at. */
  get ok(): boolean {
    return this.status >= 200 && this.status < 300 && this.#from.kind !== 'opaque'
  }
  /** The body is here already, whole: nothing can break off any more. */
  get here(): boolean {
    return this.#from.chunks !== undefined || Array.isArray(this.#from.bytes)
  }
  /** True when the caller asked for the usage chunk of a stream. */
  get includeUsage(): boolean {
    return this.#init.includeUsage ?? false
  }
  /** The same reply with more headers, or told to take another shape or status. */
  with(change: Partial<Pick<ReplyInit, 'status' | 'headers' | 'streamed' | 'includeUsage'>>): Reply {
    const headers = change.headers ? { ...this.headers, ...change.headers } : this.headers
    return new Reply({ ...this.#init, ...change, headers }, this.#from, this.#stages)
  }
  /** The same reply, watched. */
  observe(observer: Observer): Reply {
    return new Reply(this.#init, this.#from, [...this.#stages, { observer }])
  }
  /** The same reply, changed on its way out. Applied after the stages added before. */
  through(transform: Transform): Reply {
    return this.ok ? new Reply(this.#init, this.#from, [...this.#stages, { transform }]) : this
  }

  /** The body as it leaves: untouched where no stage changes it, else serialised in the asked shape. */
  bytes(): AsyncIterable<Buffer> {
    if (!this.parses) return this.#watched(this.#rawBytes())
    const shape = { streamed: this.streamed, includeUsage: this.includeUsage }
    return bytesFromBatches(this.batches(), shape)
  }
  /** The body of an answer that is not streamed, read to its end. Throws what ended it early. */
  async whole(): Promise<Buffer> {
    if (this.here && !this.streamed && this.#from.kind !== 'events') return this.#document()
    const parts: Buffer[] = []
    for await (const part of this.bytes()) parts.push(part)
    return joined(parts)
  }
  /** The common case: a document that is here needs no generator, whether stages look into it or not. */
  #document(): Buffer {
    let ending: Ending = { kind: 'complete' }
    try {
      const { bytes, chunks } = this.#from
      const body = chunks ? undefined : joined(bytes as readonly Buffer[])
      if (body && !this.parses) return body
      return documentFromChunks([...this.#push(chunks ?? [chunkFromBody(body as Buffer)], 0), ...this.#rest()])
    } catch (error) {
      ending = { kind: 'failed', error }
      throw error
    } finally {
      this.#tell(ending)
    }
  }
  /** The body as batches of chunks, one a network read; observers and transforms have seen them. */
  batches(): AsyncIterable<Batch> {
    return this.#watched(this.#staged())
  }
  /**
   * The whole answer, read to its end. Throws what ended it early. `complete` is false when a choice never finished.
   */
  async collect(): Promise<{ completion: Completion; complete: boolean }> {
    const chunks: Chunk[] = []
    for await (const batch of this.batches()) chunks.push(...batch.chunks)
    const completion = completionFromChunks(chunks)
    return { completion, complete: isComplete(completion) }
  }

  /** Somebody looks into its chunks: passing it on costs a parse. */
  get parses(): boolean {
    const { kind, chunks, batches } = this.#from
    if (kind === 'opaque') return false
    if (batches) return this.#stages.some((stage) => 'transform' in stage || stage.observer.chunk)
    const otherShape = this.status < 300 && (kind === 'events') !== this.streamed
    return (
      chunks !== undefined || otherShape || this.#stages.some((stage) => 'transform' in stage || stage.observer.chunk)
    )
  }
  #rawBytes(): Bytes {
    const { kind, bytes } = this.#from
    if (!bytes) return []
    return kind === 'events' ? splicedEvents(bytes, this.#init.maxBytes) : bytes
  }

  async *#staged(): AsyncGenerator<Batch> {
    for await (const batch of this.#incoming()) {
      const chunks = this.#push(batch.chunks, 0)
      if (chunks.length > 0 || batch.commented) yield { chunks, commented: batch.commented }
    }
    const rest = this.#rest()
    if (rest.length > 0) yield { chunks: rest, commented: false }
  }
  /** What transforms still held back, through the stages after each. */
  #rest(): readonly Chunk[] {
    const rest: Chunk[] = []
    for (const [index, stage] of this.#stages.entries()) {
      const held = 'transform' in stage ? stage.transform.end?.() : undefined
      if (held) rest.push(...this.#push(held, index + 1))
    }
    return rest
  }
  async *#incoming(): AsyncIterable<Batch> {
    const { kind, bytes, chunks } = this.#from
    if (chunks) yield { chunks, commented: false }
    else if (this.#from.batches) yield* this.#from.batches
    else if (bytes && kind === 'events') yield* batchesFromBytes(bytes, this.#init.maxBytes)
    else if (bytes) yield await batchFromJson(bytes, this.streamed, this.#init.maxBytes)
  }
  #push(chunks: readonly Chunk[], from: number): readonly Chunk[] {
    let going = chunks
    for (let i = from; i < this.#stages.length && going.length > 0; i++)
      going = pushStage(this.#stages[i] as Stage, going)
    return going
  }
  /** Tells every observer once how it ended, whoever reads and however far. */
  async *#watched<T>(items: AsyncIterable<T> | Iterable<T>): AsyncGenerator<T> {
    let ending: Ending = { kind: 'aborted' }
    try {
      yield* items
      ending = { kind: 'complete' }
    } catch (error) {
      if (error !== dropped) ending = { kind: 'failed', error }
      throw error
    } finally {
      this.#tell(ending)
    }
  }
  #tell(ending: Ending): void {
    for (const stage of this.#stages) if ('observer' in stage) stage.observer.end?.(ending)
  }
}

function joined(parts: readonly Buffer[]): Buffer {
  return parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts)
}

/** A reply whose body passes through as bytes. */
export function replyFromBytes(init: ReplyInit, kind: BodyKind, bytes: Bytes): Reply {
  return new Reply(init, { kind, bytes })
}

/** A reply made here from chunks, such as the rest of a stream that a layer took over. */
export function replyFromChunks(init: ReplyInit, chunks: readonly Chunk[]): Reply {
  return new Reply(init, { kind: init.streamed ? 'events' : 'json', chunks })
}

/** A reply made here from a whole answer, in the shape the caller asked for. */
export function replyFromCompletion(init: ReplyInit, completion: Completion): Reply {
  const chunks = init.streamed ? chunksFromCompletion(completion, true) : [chunkFromCompletion(completion)]
  return replyFromChunks(init, chunks)
}
