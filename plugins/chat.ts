import { isUtf8 } from 'node:buffer'
import { gatewayError } from './errors.ts'
import { createSchema, type JsonSchema, type Schema, sayFault } from './schema.ts'

/** What kind of call it is. `messages` (Anthropic) is translated, so layers see it as a chat. */
export type Route = 'chat' | 'completions' | 'messages' | 'embeddings' | 'models' | 'passthrough'

/** One part of a message's content, such as `{ type: 'text', text }` or an image. */
export interface ContentPart {
  readonly type: string
  readonly text?: string
  readonly [member: string]: unknown
}

/** A tool call of an assistant message (OpenAI chat completions). */
export interface ToolCall {
  readonly id?: string
  readonly index?: number
  readonly type?: string
  readonly function?: { readonly name?: string; readonly arguments?: string; readonly [member: string]: unknown }
  readonly [member: string]: unknown
}

/** One message of a conversation. */
export interface Message {
  readonly role: string
  readonly content?: string | readonly ContentPart[] | null
  readonly tool_calls?: readonly ToolCall[]
  readonly tool_call_id?: string
  readonly [member: string]: unknown
}

/** A request of the chat, completions or embeddings route, as OpenAI shapes it. Unknown members are kept. */
export interface ChatRequest {
  readonly model: string
  readonly messages?: readonly Message[]
  /** `/v1/completions` only. */
  readonly prompt?: unknown
  /** `/v1/embeddings` only. */
  readonly input?: unknown
  readonly stream?: boolean | null
  readonly stream_options?: { readonly include_usage?: boolean | null; readonly [member: string]: unknown } | null
  readonly max_tokens?: number | null
  readonly max_completion_tokens?: number | null
  readonly n?: number | null
  readonly temperature?: number | null
  readonly seed?: unknown
  readonly user?: unknown
  readonly response_format?: { readonly type?: string; readonly [member: string]: unknown } | null
  readonly tools?: readonly unknown[] | null
  readonly tool_choice?: unknown
  readonly [member: string]: unknown
}

/** Tokens of one call, as the runner counted them. */
export interface Usage {
  readonly prompt_tokens?: number
  readonly completion_tokens?: number
  readonly total_tokens?: number
  readonly prompt_tokens_details?: { readonly cached_tokens?: number; readonly [member: string]: unknown } | null
  readonly [member: string]: unknown
}

/** What one choice of a chunk adds. Chat chunks use `delta`, legacy completions `text`. */
export interface ChunkChoice {
  readonly index: number
  readonly delta?: {
    readonly role?: string
    readonly content?: string | null
    readonly tool_calls?: readonly ToolCall[]
    readonly [member: string]: unknown
  }
  readonly text?: string
  readonly finish_reason?: string | null
  readonly [member: string]: unknown
}

/** One piece of an answer. A whole JSON answer is one chunk whose `delta` is the message. */
export interface Chunk {
  readonly id?: string
  readonly object?: string
  readonly model?: string
  readonly choices?: readonly ChunkChoice[]
  readonly usage?: Usage | null
  /** An error the runner reported after it had said 200. */
  readonly error?: unknown
  readonly [member: string]: unknown
}

const nullable = (schema: JsonSchema): JsonSchema => ({ anyOf: [schema, { type: 'null' }] })
const tokens = { type: ['integer', 'null'], minimum: 1 }

const sampling: Record<string, JsonSchema> = {
  model: { type: 'string', minLength: 1, maxLength: 512 },
  stream: { type: ['boolean', 'null'] },
  stream_options: nullable({ type: 'object', properties: { include_usage: { type: ['boolean', 'null'] } } }),
  max_tokens: tokens,
  max_completion_tokens: tokens,
  n: { type: ['integer', 'null'], minimum: 1, maximum: 128 },
  temperature: { type: ['number', 'null'] },
  top_p: { type: ['number', 'null'] },
  stop: nullable({ type: ['string', 'array'], items: { type: 'string' } }),
}

const part: JsonSchema = {
  type: 'object',
  required: ['type'],
  properties: { type: { type: 'string' }, text: { type: 'string' } },
}

const message: JsonSchema = {
  type: 'object',
  required: ['role'],
  properties: {
    role: { type: 'string', minLength: 1 },
    content: { type: ['string', 'array', 'null'], items: part },
    tool_calls: nullable({
      type: 'array',
      items: { type: 'object', properties: { id: { type: 'string' }, function: { type: 'object' } } },
    }),
    tool_call_id: { type: 'string' },
  },
}

const request = (required: string[], more: Record<string, JsonSchema>): Schema<ChatRequest> =>
  createSchema<ChatRequest>({ type: 'object', required: ['model', ...required], properties: { ...sampling, ...more } })

const chatRequest = request(['messages'], {
  messages: { type: 'array', minItems: 1, items: message },
  tools: nullable({ type: 'array', items: { type: 'object' } }),
  response_format: nullable({ type: 'object', required: ['type'], properties: { type: { type: 'string' } } }),
})

/** The shape each route's body is held to. Members it does not name are let through. */
export const requestSchemas: Readonly<Record<'chat' | 'completions' | 'embeddings', Schema<ChatRequest>>> = {
  chat: chatRequest,
  completions: request(['prompt'], { prompt: { type: ['string', 'array'] } }),
  embeddings: request(['input'], { input: { type: ['string', 'array'] } }),
}

/** A body as a request. Throws `invalid_json` (not JSON, not UTF-8) or `invalid_request` naming the first field at fault. */
export function requestFromBody(body: Buffer, route: Route): ChatRequest {
  const value = jsonFromBody(body)
  const schema = route === 'completions' || route === 'embeddings' ? requestSchemas[route] : requestSchemas.chat
  const [fault] = schema.faults(value)
  if (fault) throw gatewayError('invalid_request', sayFault(fault), { field: fault.path })
  return value as ChatRequest
}

/** A body as JSON. Integers beyond 2⁵³ keep their source digits (as `JSON.rawJSON`). Throws `invalid_json`. */
export function jsonFromBody(body: Buffer): unknown {
  if (!isUtf8(body)) throw gatewayError('invalid_json', 'the body is not valid UTF-8')
  try {
    return jsonFromText(body.toString('utf8'))
  } catch (cause) {
    throw gatewayError('invalid_json', 'the body is not valid JSON', { cause })
  }
}

/** `JSON.parse` that keeps the digits of integers too large for a double. */
export function jsonFromText(text: string): unknown {
  // The reviver costs several times the parse, and only numbers of 16 digits or more can lose any.
  return /\d{16}/.test(text)
    ? JSON.parse(text, keepDigits as (key: string, value: unknown) => unknown)
    : JSON.parse(text)
}

function keepDigits(_key: string, value: unknown, context: { source?: string }): unknown {
  if (typeof value !== 'number' || context.source === undefined || Number.isSafeInteger(value)) return value
  return /^-?\d+$/.test(context.source) ? rawJson(context.source) : value
}

// Not in TypeScript's library yet (ECMAScript proposal JSON.parse source text access, in V8 since 11.4).
const { rawJSON: rawJson } = JSON as unknown as { rawJSON(text: string): unknown }

/** The text of a message, parts joined; empty when it has none. */
export function textOfMessage(message: Message): string {
  const { content } = message
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return content.map((each: ContentPart) => (typeof each.text === 'string' ? each.text : '')).join('')
}

/** How many output tokens a request asks for at most, for each choice; undefined when it does not say. */
export function outputLimit(request: ChatRequest): number | undefined {
  return request.max_completion_tokens ?? request.max_tokens ?? undefined
}
