import { json, type Reply, reply } from './reply.ts'
import type { Chooser } from './upstream.ts'

/** What a chat completion chunk can say; everything left out is left out of the chunk too. */
export interface ChunkSays {
  readonly role?: string
  readonly content?: string
  readonly toolCalls?: readonly unknown[]
  /** Further fields of the delta. */
  readonly delta?: Readonly<Record<string, unknown>>
  readonly finish?: string
  /** The choice, default 0; null makes `choices` empty. */
  readonly choice?: number | null
  readonly usage?: unknown
  readonly model?: string
  readonly id?: string
}

/** One `chat.completion.chunk`, as an object. */
export function chatChunk(says: ChunkSays = {}): Record<string, unknown> {
  const { role, content, toolCalls, finish, choice = 0, usage } = says
  const delta = {
    ...(role !== undefined && { role }),
    ...(content !== undefined && { content }),
    ...(toolCalls !== undefined && { tool_calls: toolCalls }),
    ...says.delta,
  }
  return {
    id: says.id ?? 'chatcmpl-rig',
    object: 'chat.completion.chunk',
    created: 1_700_000_000,
    model: says.model ?? 'rig-model',
    choices: choice === null ? [] : [{ index: choice, delta, finish_reason: finish ?? null }],
    ...(usage !== undefined && { usage }),
  }
}

/** One event's bytes as most upstreams write them: `data: …` and a blank line; objects become JSON. */
export function dataEvent(data: unknown): string {
  return `data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`
}

/** The event that ends an OpenAI stream. */
export const DONE = dataEvent('[DONE]')

/** The head of an event stream; add events with `.send(dataEvent(…))`. */
export function sseHead(headers: Record<string, string> = {}): Reply {
  return reply(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-cache', ...headers })
}

/** A stream of these events, one segment each, with `[DONE]` behind them. */
export function sse(events: readonly unknown[]): Reply {
  return sseHead().send(...events.map(dataEvent), DONE)
}

/** A whole streamed answer: the role, the pieces of text, finish `stop`, and, if given, a usage chunk. */
export function streamed(pieces: readonly string[], usage?: unknown): Reply {
  const tail = usage === undefined ? [] : [chatChunk({ choice: null, usage })]
  const chunks = pieces.map((content) => chatChunk({ content }))
  return sse([chatChunk({ role: 'assistant', content: '' }), ...chunks, chatChunk({ finish: 'stop' }), ...tail])
}

/** A `chat.completion` object; `change` replaces top-level fields. */
export function completionBody(text: string, change: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  return {
    id: 'chatcmpl-rig',
    object: 'chat.completion',
    created: 1_700_000_000,
    model: 'rig-model',
    choices: [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 },
    ...change,
  }
}

/** A whole answer that is not streamed. */
export function completion(text: string, change?: Readonly<Record<string, unknown>>): Reply {
  return json(completionBody(text, change))
}

/** Answers as the request asks: streamed word by word when it says `stream: true`, else whole. */
export function chat(text: string): Chooser {
  return (request) => {
    const asked = request.json()
    const usage = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 }
    if (asked.stream !== true) return completion(text)
    return streamed(text.split(/(?<= )/), asked.stream_options?.include_usage ? usage : undefined)
  }
}

/** An OpenAI error answer. */
export function fault(status: number, message: string, fields: Readonly<Record<string, unknown>> = {}): Reply {
  return json({ error: { message, type: 'invalid_request_error', param: null, code: null, ...fields } }, status)
}

/** Chooses the script by the path of the request, without its query; `*` for all others. */
export function byPath(replies: Readonly<Record<string, Reply | Chooser>>): Chooser {
  return (request) => {
    const entry = replies[request.path.split('?')[0]!] ?? replies['*'] ?? fault(404, `no reply for ${request.path}`)
    return typeof entry === 'function' ? entry(request) : entry
  }
}
