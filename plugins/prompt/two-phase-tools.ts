import { type ChatRequest, type Chunk, outputLimit, type Usage } from '../chat.ts'
import type { Completion } from '../chunks.ts'
import type { Transform } from '../reply.ts'
import type { TwoPhaseToolsConfig } from './config-adaptations.ts'
import { type Messages, withInstructions } from './messages.ts'

/** Output tokens that the naming of a tool may take. */
const namingTokens = 64
const none = 'none'

interface ToolShape {
  readonly name: string
  readonly description: string
}

/** The names of the tools a request may choose among; undefined when it has decided itself or leaves too little choice. */
export function toolsToName(request: ChatRequest, config: TwoPhaseToolsConfig): readonly string[] | undefined {
  const choice = request.tool_choice ?? 'auto'
  if (!config.enabled || request.response_format || (choice !== 'auto' && choice !== 'required')) return undefined
  const tools = toolsOf(request)
  const names = new Set(tools.map((each) => each.name))
  const whole = tools.length === request.tools?.length && names.size === tools.length && !names.has(none)
  return whole && tools.length >= config.minTools ? [...names] : undefined
}

function toolsOf(request: ChatRequest): ToolShape[] {
  return (request.tools ?? []).flatMap((tool) => {
    const { name, description } = ((tool as { function?: Record<string, unknown> } | null)?.function ?? {}) as Record<
      string,
      unknown
    >
    return typeof name === 'string' ? [{ name, description: typeof description === 'string' ? description : '' }] : []
  })
}

/** The first question: which tool, by name, and nothing else. */
export function namingRequest(request: ChatRequest, names: readonly string[]): ChatRequest {
  const { tools, tool_choice, parallel_tool_calls, stream_options, max_tokens, max_completion_tokens, ...rest } =
    request
  const allowed = tool_choice === 'required' ? names : [...names, none]
  const list = toolsOf(request).map(({ name, description }) => `- ${name}: ${description.slice(0, 300)}`)
  const may = tool_choice === 'required' ? '' : ` Say "${none}" when no tool is needed.`
  const text = `Do not answer yet. Say which of these tools is to be called next, as {"tool": name}.${may}\n${list.join('\n')}`
  const schema = {
    type: 'object',
    properties: { tool: { type: 'string', enum: allowed } },
    required: ['tool'],
    additionalProperties: false,
  }
  const length = max_completion_tokens === undefined ? 'max_tokens' : 'max_completion_tokens'
  return {
    ...rest,
    // Some servers refuse a conversation that holds tool calls without the tools.
    ...(holdsCalls(request.messages ?? []) && { tools, tool_choice: none }),
    messages: withInstructions(request.messages ?? [], text, { position: 'after', role: 'system' }),
    response_format: { type: 'json_schema', json_schema: { name: 'tool_name', strict: true, schema } },
    [length]: Math.min(namingTokens, outputLimit(request) ?? namingTokens),
    stream: false,
    n: 1,
  }
}

function holdsCalls(messages: Messages): boolean {
  return messages.some((each) => each.role === 'tool' || (each.tool_calls?.length ?? 0) > 0)
}

/** The second question: the request with that tool chosen, with none, or, when none could be read, as it came. */
export function callingRequest(request: ChatRequest, tool: string | undefined): ChatRequest {
  if (tool === undefined) return request
  return { ...request, tool_choice: tool === none ? none : { type: 'function', function: { name: tool } } }
}

/** The tool that an answer names, also with text around the object; undefined when it names none that was offered. */
export function namedTool(completion: Completion, request: ChatRequest, names: readonly string[]): string | undefined {
  const content = completion.choices?.[0]?.message?.content
  if (typeof content !== 'string') return undefined
  const [, name] = /"tool"\s*:\s*("(?:[^"\\]|\\.)*")/.exec(content) ?? []
  if (name === undefined) return undefined
  const said = unquoted(name)
  const may = said === none && request.tool_choice !== 'required'
  return said !== undefined && (may || names.includes(said)) ? said : undefined
}

function unquoted(json: string): string | undefined {
  try {
    return JSON.parse(json) as string
  } catch {
    return undefined
  }
}

/** Adds the tokens of the first question to what the second reports, so that both are paid for. */
export function createUsageAdder(first: Usage): Transform {
  return { push: (chunk: Chunk) => (chunk.usage ? { ...chunk, usage: summed(chunk.usage, first) } : chunk) }
}

function summed(usage: Usage, first: Usage): Usage {
  const sum: Record<string, unknown> = { ...usage }
  for (const key of ['prompt_tokens', 'completion_tokens', 'total_tokens'] as const) {
    if (typeof usage[key] === 'number') sum[key] = usage[key] + (first[key] ?? 0)
  }
  return sum as Usage
}
