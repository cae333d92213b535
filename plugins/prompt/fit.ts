import type { ChatRequest, ContentPart, Message } from '../chat.ts'
import { outputLimit, textOfMessage } from '../chat.ts'
import { gatewayError } from '../errors.ts'
import type { ContextConfig } from './config-context.ts'
import { cutMessages } from './cut.ts'
import type { Messages } from './messages.ts'
import { turnsOf } from './turns.ts'

/** Tokens that a chat template spends on a message beside its text. */
const messageTokens = 4
/** Tokens that a content part without text (an image, a sound) is taken for. */
const partTokens = 768

/** Counts the tokens of a text. */
export type Count = (text: string) => number

/** How a request was made to fit. */
export interface Fitted {
  readonly messages: Messages
  /** Messages that were left out, oldest first. */
  readonly dropped: Messages
  readonly droppedTokens: number
  /** Messages that were cut in their middle. */
  readonly cut: number
  /** There is room for the summary. */
  readonly spared: boolean
}

/** What fitting needs to know. */
export interface Fitting {
  readonly config: ContextConfig
  readonly model: string
  /** Tokens of the model's context. */
  readonly limit: number
  readonly count: Count
  /** Tokens to leave free beside the answer, for a summary. */
  readonly spare: number
  /** By how many tokens the estimate of the whole request is known to be too low. */
  readonly missed: number
}

/** The context of a model in tokens; undefined when none is configured for it. */
export function contextLimit({ modelTokens, maxTokens }: ContextConfig, model: string): number | undefined {
  return (Object.hasOwn(modelTokens, model) ? modelTokens[model] : undefined) ?? maxTokens ?? undefined
}

/** Tokens of a message, estimated. */
export function messageSize(message: Message, count: Count): number {
  let size = messageTokens + count(textOfMessage(message))
  if (Array.isArray(message.content)) {
    size += partTokens * (message.content as readonly ContentPart[]).filter((part) => part.text === undefined).length
  }
  for (const call of message.tool_calls ?? [])
    size += count(`${call.function?.name ?? ''} ${call.function?.arguments ?? ''}`)
  return size
}

/**
 * Makes a request fit: the oldest turns go, first those before the last `keepTurns`, and never the instructions or the last turn. Undefined
 * when it fits as it is. Throws `context_length_exceeded` when it cannot.
 */
export function fitRequest(request: ChatRequest, fitting: Fitting): Fitted | undefined {
  const { config, count } = fitting
  const messages = request.messages ?? []
  const sizes = messages.map((message) => messageSize(message, count))
  const fixed = besides(request, count)
  const reserved = outputLimit(request) ?? config.reserveOutput
  const room = fitting.limit - reserved - fixed - fitting.missed
  const whole = sum(sizes)
  if (whole <= room) return undefined
  const plan = planDrops({ messages, sizes, room: room - fitting.spare, config })
  const out = new Set(plan)
  const kept = messages.filter((_, index) => !out.has(index))
  const droppedTokens = sum(plan.map((index) => sizes[index] ?? 0))
  const over = whole - droppedTokens - room
  const dropped = plan.map((index) => messages[index] as Message)
  const spared = over + fitting.spare <= 0
  if (over <= 0) return { messages: kept, dropped, droppedTokens, cut: 0, spared }
  const shorter = config.cutMessages ? cutMessages(kept, { over, count }) : undefined
  if (shorter) return { ...shorter, dropped, droppedTokens, spared }
  const least = whole - droppedTokens + fixed + fitting.missed
  const message = `the instructions and the last turn are about ${least} tokens; model "${fitting.model}" takes ${fitting.limit}, of which ${reserved} are for the answer`
  throw gatewayError('context_length_exceeded', message, { field: 'messages' })
}

interface Planning {
  readonly messages: Messages
  readonly sizes: readonly number[]
  readonly room: number
  readonly config: Pick<ContextConfig, 'keepTurns' | 'strideTurns'>
}

/** Places of the messages that go so that the rest is at most `room`, or of all that may go. */
export function planDrops({ messages, sizes, room, config }: Planning): readonly number[] {
  const turns = turnsOf(messages)
  const droppable = Math.max(0, turns.length - 1)
  const older = Math.max(0, turns.length - config.keepTurns)
  let left = sum(sizes)
  let drop = 0
  while (left > room && drop < droppable) {
    // In strides as long as only older turns go; the kept ones go one by one.
    const next = drop < older ? Math.min(older, drop + config.strideTurns) : drop + 1
    for (; drop < next; drop++) for (const index of turns[drop] ?? []) left -= sizes[index] ?? 0
  }
  return turns
    .slice(0, drop)
    .flat()
    .sort((a, b) => a - b)
}

/** Tokens of a whole request, estimated. */
export function requestSize(request: ChatRequest, count: Count): number {
  return besides(request, count) + sum((request.messages ?? []).map((message) => messageSize(message, count)))
}

/** Tokens of what goes with the messages: tools and a schema. */
function besides({ tools, response_format }: ChatRequest, count: Count): number {
  const toolTokens = tools && tools.length > 0 ? count(JSON.stringify(tools)) : 0
  return toolTokens + (response_format ? count(JSON.stringify(response_format)) : 0)
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, each) => all + each, 0)
}
