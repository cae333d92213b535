import { type GatewayError, gatewayError } from './errors.ts'
import { createSchema, type JsonSchema } from './schema.ts'

/** One content block of a message. What a type needs is checked where it is translated. */
export interface MessagesBlock {
  readonly type: string
  readonly [member: string]: unknown
}

/** One turn of an Anthropic conversation. */
export interface MessagesTurn {
  readonly role: 'user' | 'assistant' | 'system'
  readonly content: string | readonly MessagesBlock[]
}

/** A tool that the model may call. */
export interface MessagesTool {
  readonly name: string
  readonly type?: string | null
  readonly description?: string
  readonly input_schema?: Readonly<Record<string, unknown>>
  readonly strict?: boolean
}

/** Whether and which tool the model has to call. */
export interface MessagesToolChoice {
  readonly type: 'auto' | 'any' | 'tool' | 'none'
  readonly name?: string
  readonly disable_parallel_tool_use?: boolean
}

/** A body of `POST /v1/messages`, as far as it is translated. */
export interface MessagesRequest {
  readonly model: string
  readonly max_tokens: number
  readonly messages: readonly MessagesTurn[]
  readonly system?: string | readonly MessagesBlock[] | null
  readonly stream?: boolean | null
  readonly temperature?: number | null
  readonly top_p?: number | null
  readonly top_k?: number | null
  readonly stop_sequences?: readonly string[] | null
  readonly tools?: readonly MessagesTool[] | null
  readonly tool_choice?: MessagesToolChoice | null
  readonly metadata?: { readonly user_id?: string | null } | null
  readonly output_config?: {
    readonly effort?: string | null
    readonly format?: { readonly type: string; readonly schema?: unknown } | null
  } | null
  /** Our own directives; they go on as they are. */
  readonly execution_context?: unknown
}

const block: JsonSchema = { type: 'object', required: ['type'], properties: { type: { type: 'string' } } }
const turn: JsonSchema = {
  type: 'object',
  required: ['role', 'content'],
  properties: {
    role: { enum: ['user', 'assistant', 'system'] },
    content: { type: ['string', 'array'], items: block },
  },
}
const tool: JsonSchema = {
  type: 'object',
  required: ['name'],
  properties: {
    name: { type: 'string', minLength: 1 },
    type: { type: ['string', 'null'] },
    description: { type: 'string' },
    input_schema: { type: 'object' },
    strict: { type: 'boolean' },
  },
}
const toolChoice: JsonSchema = {
  type: ['object', 'null'],
  required: ['type'],
  properties: {
    type: { enum: ['auto', 'any', 'tool', 'none'] },
    name: { type: 'string', minLength: 1 },
    disable_parallel_tool_use: { type: 'boolean' },
  },
}
const outputConfig: JsonSchema = {
  type: ['object', 'null'],
  properties: {
    effort: { type: ['string', 'null'] },
    format: {
      type: ['object', 'null'],
      required: ['type', 'schema'],
      properties: { type: { const: 'json_schema' }, schema: { type: 'object' } },
    },
  },
}

const schema = createSchema<MessagesRequest>({
  type: 'object',
  required: ['model', 'max_tokens', 'messages'],
  properties: {
    model: { type: 'string', minLength: 1, maxLength: 512 },
    max_tokens: { type: 'integer', minimum: 1 },
    messages: { type: 'array', minItems: 1, items: turn },
    system: { type: ['string', 'array', 'null'], items: block },
    stream: { type: ['boolean', 'null'] },
    temperature: { type: ['number', 'null'] },
    top_p: { type: ['number', 'null'] },
    top_k: { type: ['integer', 'null'], minimum: 0 },
    stop_sequences: { type: ['array', 'null'], items: { type: 'string' } },
    tools: { type: ['array', 'null'], items: tool },
    tool_choice: toolChoice,
    metadata: { type: ['object', 'null'], properties: { user_id: { type: ['string', 'null'] } } },
    output_config: outputConfig,
  },
})

/** A parsed body as a request. Throws `invalid_request` naming the first field at fault the way Anthropic does: `messages.0.role`. */
export function messagesRequestFrom(body: unknown): MessagesRequest {
  const [fault] = schema.faults(body)
  if (fault) throw fieldFault(fault.path.replace(/\[(\d+)\]/g, '.$1'), fault.message)
  return body as MessagesRequest
}

/** A fault of the request at a field such as `messages.0.content.1.type`. */
export function fieldFault(field: string, message: string): GatewayError {
  return gatewayError('invalid_request', field ? `${field}: ${message}` : message, { field })
}
