import { randomBytes } from 'node:crypto'
import type { Delta, Job, Piece, Usage } from './engine.ts'

/** One answer's identity on the wire, the same in all its chunks. */
export interface Envelope {
  readonly id: string
  readonly kind: Job['kind']
  /** Unix seconds. */
  readonly created: number
  readonly model: string
  /** Whether the client asked for a usage chunk (`stream_options.include_usage`). */
  readonly includeUsage: boolean
  /** Whether a usage chunk is made all the same, for those who count on the way. */
  readonly metered?: boolean
}

/** A new envelope for an answer of the named model. */
export function createEnvelope(kind: Job['kind'], model: string, includeUsage: boolean): Envelope {
  const id = `${kind === 'chat' ? 'chatcmpl' : 'cmpl'}-${randomBytes(12).toString('hex')}`
  return { id, kind, created: Math.floor(Date.now() / 1000), model, includeUsage }
}

const objects = { chat: 'chat.completion', completion: 'text_completion' } as const

/** The members every body of one answer starts with. */
export function headFrom(envelope: Envelope, streamed: boolean): Record<string, unknown> {
  const { id, kind, created, model } = envelope
  const object = kind === 'chat' && streamed ? 'chat.completion.chunk' : objects[kind]
  return { id, object, created, model }
}

function chunk(envelope: Envelope, choices: readonly unknown[], usage: Usage | null): string {
  // OpenAI: with include_usage every chunk bears the member, null in all but the last.
  const tail = envelope.includeUsage || usage ? { usage } : {}
  return `data: ${JSON.stringify({ ...headFrom(envelope, true), choices, ...tail })}\n\n`
}

/** The event that says a choice began; raw completions have none. */
export function openingEvent(envelope: Envelope, index: number): string {
  if (envelope.kind === 'completion') return ''
  const delta: Delta = { role: 'assistant', content: '' }
  return chunk(envelope, [{ index, delta, logprobs: null, finish_reason: null }], null)
}

/** The event for one piece; empty where nothing is to be said. */
export function eventFromPiece(envelope: Envelope, piece: Piece): string {
  if (piece.kind === 'usage') return envelope.includeUsage || envelope.metered ? chunk(envelope, [], piece.usage) : ''
  const { index } = piece
  const finish_reason = piece.kind === 'finish' ? piece.reason : null
  const delta: Delta = piece.kind === 'delta' ? piece.delta : {}
  if (piece.kind === 'delta' && Object.values(delta).every((value) => value === '')) return ''
  const logprobs = (piece.kind === 'delta' && piece.logprobs) || null
  if (envelope.kind === 'chat') return chunk(envelope, [{ index, delta, logprobs, finish_reason }], null)
  return chunk(envelope, [{ index, text: delta.content ?? '', logprobs, finish_reason }], null)
}

/** The event that ends a whole stream. Never sent after a failure. */
export const doneEvent = 'data: [DONE]\n\n'
