import type { ChatRequest, Message, Usage } from '../../../plugins/chat.ts'
import type { Completion } from '../../../plugins/chunks.ts'
import { clientSchema } from '../../../plugins/client-schema.ts'
import { GatewayError } from '../../../plugins/errors.ts'

/** Where an answer contradicts itself or what was asked, and the rule that it breaks. */
export interface Inconsistency {
  readonly path: string
  readonly rule:
    | 'total-is-sum'
    | 'part-of-whole'
    | 'usage-as-asked'
    | 'choices-contiguous'
    | 'tool-declared'
    | 'arguments-parse'
    | 'arguments-valid'
    | 'schema-valid'
    | 'tokens-of-content'
}

/** What an answer is held against beside itself. */
export interface AnswerContext {
  readonly request?: ChatRequest
  /** The call was streamed: its usage comes only when it is asked for. */
  readonly streamed?: boolean
  /** How many tokens a text has, for models that do not reason apart; absent: the count is not checked. */
  readonly countTokens?: (text: string) => number
}

/** By how many tokens a count may be off: a template's own end tokens are counted by some. */
const tokensApart = 2

/** Everything in which a whole answer (OpenAI) contradicts itself or the request. Answers that are none have no rules. */
export function inconsistenciesOf(body: unknown, context: AnswerContext = {}): readonly Inconsistency[] {
  if (body === null || typeof body !== 'object' || !Array.isArray((body as Completion).choices)) return []
  const answer = body as Completion
  const choices = answer.choices ?? []
  return [
    ...usageFaults(answer.usage),
    ...askedFaults(answer, context),
    ...(choices.every((choice, index) => choice?.index === index)
      ? []
      : [{ path: 'choices', rule: 'choices-contiguous' } as const]),
    ...choices.flatMap((choice, index) => messageFaults(choice?.message, `choices[${index}].message`, context)),
    ...tokenFaults(answer, context),
  ]
}

function usageFaults(usage: Usage | null | undefined): Inconsistency[] {
  if (!usage) return []
  const { prompt_tokens: input, completion_tokens: output, total_tokens: total } = usage
  const cached = usage.prompt_tokens_details?.cached_tokens
  const faults: Inconsistency[] = []
  if (total !== undefined && total !== (input ?? 0) + (output ?? 0)) {
    faults.push({ path: 'usage.total_tokens', rule: 'total-is-sum' })
  }
  if (typeof cached === 'number' && cached > (input ?? 0)) {
    faults.push({ path: 'usage.prompt_tokens_details.cached_tokens', rule: 'part-of-whole' })
  }
  return faults
}

function askedFaults({ usage }: Completion, { request, streamed }: AnswerContext): Inconsistency[] {
  if (!request) return []
  const asked = !streamed || request.stream_options?.include_usage === true
  return asked === Boolean(usage) ? [] : [{ path: 'usage', rule: 'usage-as-asked' }]
}

interface DeclaredTool {
  readonly function?: { readonly name?: unknown; readonly parameters?: unknown }
}

function messageFaults(message: Message | undefined, path: string, { request }: AnswerContext): Inconsistency[] {
  const calls = Array.isArray(message?.tool_calls) ? message.tool_calls : []
  const faults = calls.flatMap((call, index) =>
    callFaults(call?.function, `${path}.tool_calls[${index}].function`, request),
  )
  const format = request?.response_format as { type?: string; json_schema?: { schema?: unknown } } | null | undefined
  const { content } = message ?? {}
  if (format?.type === 'json_schema' && typeof content === 'string' && calls.length === 0) {
    const value = parsed(content)
    if (value === notJson || !isValid(format.json_schema?.schema, value)) {
      faults.push({ path: `${path}.content`, rule: 'schema-valid' })
    }
  }
  return faults
}

function callFaults(
  called: (DeclaredTool['function'] & { arguments?: unknown }) | undefined,
  path: string,
  request?: ChatRequest,
): Inconsistency[] {
  const tools = (request?.tools ?? undefined) as readonly DeclaredTool[] | undefined
  const tool = tools?.find((each) => each.function?.name === called?.name)
  const faults: Inconsistency[] = request && !tool ? [{ path: `${path}.name`, rule: 'tool-declared' }] : []
  const text = called?.arguments
  const value = typeof text === 'string' ? (text === '' ? {} : parsed(text)) : notJson
  if (value === notJson) faults.push({ path: `${path}.arguments`, rule: 'arguments-parse' })
  else if (tool && !isValid(tool.function?.parameters, value))
    faults.push({ path: `${path}.arguments`, rule: 'arguments-valid' })
  return faults
}

/** A schema that is itself no good says nothing of a value. */
function isValid(schema: unknown, value: unknown): boolean {
  if (schema === undefined || schema === null) return true
  try {
    return clientSchema(schema).faults(value).length === 0
  } catch (reason) {
    if (reason instanceof GatewayError) return true
    throw reason
  }
}

const notJson = Symbol('not JSON')

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return notJson
  }
}

function tokenFaults({ choices, usage }: Completion, { countTokens }: AnswerContext): Inconsistency[] {
  const [choice] = choices ?? []
  const text = choice?.message?.content ?? choice?.text
  const counted = usage?.completion_tokens
  if (!countTokens || choices?.length !== 1 || typeof text !== 'string' || counted === undefined) return []
  if (choice?.message?.tool_calls || usage?.['completion_tokens_details']) return []
  const off = Math.abs(countTokens(text) - counted)
  return off <= tokensApart ? [] : [{ path: 'usage.completion_tokens', rule: 'tokens-of-content' }]
}
