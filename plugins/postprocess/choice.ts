import type { ChunkChoice, ContentPart, ToolCall } from '../chat.ts'
import { type Annotation, type Cleaning, cleanText, finderFor } from './cleaning.ts'
import { createFields, type Fields } from './fields.ts'
import { cleanJsonText } from './json-text.ts'
import { type CallKeeper, createCallKeeper } from './tool-calls.ts'

/** What one choice of a chunk becomes. */
export interface CleanedChoice {
  /** What was held back and now leaves in a chunk before this one. */
  readonly before?: ChunkChoice
  /** The choice as it leaves: the same object when nothing changed, absent when nothing of it is left. */
  readonly choice?: ChunkChoice
}

/** Cleans one choice of an answer, over all its chunks. */
export interface ChoiceCleaner {
  push(choice: ChunkChoice): CleanedChoice
  /** What is held back, when the answer ends without a finish reason. */
  end(): ChunkChoice | undefined
}

interface Says {
  readonly [member: string]: unknown
}
type Rest = Record<string, unknown>

interface Parts {
  readonly fields: Fields
  readonly keeper: CallKeeper | undefined
  clean(text: string): string
}

/** Makes a {@link ChoiceCleaner}. */
export function createChoiceCleaner(cleaning: Cleaning, index: number, notes: Annotation[]): ChoiceCleaner {
  const onFind = finderFor(cleaning, index, notes)
  const clean = (text: string): string => cleanText(cleaning.plan, text, onFind)
  const fields = createFields(cleaning, onFind)
  const keeper = cleaning.toolCalls ? createCallKeeper((args) => cleanJsonText(args, clean)) : undefined
  const parts: Parts = { fields, keeper, clean }
  let legacy = false
  const held = (rest: Rest): ChunkChoice | undefined => {
    if (Object.keys(rest).length === 0) return undefined
    return legacy ? { index, ...rest, finish_reason: null } : { index, delta: rest, finish_reason: null }
  }
  return {
    push(choice) {
      legacy = choice.delta === undefined
      const says = (choice.delta ?? { text: choice.text }) as Says
      const last = typeof choice.finish_reason === 'string'
      const rest: Rest = {}
      if (callReasons.has(choice.finish_reason as string)) fields.calls()
      const calls = pushCalls(parts, says, { last, rest })
      const changes = { ...pushFields(parts, says, { last, rest }), ...calls }
      const before = held(rest)
      return { ...(before ? { before } : {}), ...changedChoice(choice, says, changes) }
    },
    end() {
      const rest: Rest = {}
      for (const field of fields.open()) keep(rest, field, fields.close(field))
      const calls = keeper?.end() ?? []
      return held(calls.length > 0 ? { ...rest, tool_calls: calls } : rest)
    },
  }
}

const callReasons: ReadonlySet<string> = new Set(['tool_calls', 'function_call'])

// Thoughts come before what they lead to.
const names = { legacy: ['text'], chat: ['reasoning_content', 'reasoning', 'refusal', 'content'] } as const

interface Turn {
  readonly last: boolean
  /** Gets what must leave before this chunk. */
  readonly rest: Rest
}

const keep = (rest: Rest, field: string, text: string): void => {
  if (text) rest[field] = text
}

/** Takes the text fields of what a choice says. Returns those that change. */
function pushFields({ fields, clean }: Parts, says: Says, { last, rest }: Turn): Says {
  const changes: Rest = {}
  const legacy = 'text' in says
  const open = fields.open()
  const answers = typeof says['content'] === 'string' && says['content'] !== ''
  for (const field of legacy ? names.legacy : names.chat) {
    const piece = says[field]
    const main = field === 'content' || legacy
    if (typeof piece === 'string') {
      const shown = piece === '' && !last ? '' : fields.push(field, piece, last)
      if (shown !== piece) changes[field] = shown
    } else if (Array.isArray(piece)) changes[field] = piece.map((part: ContentPart) => cleanPart(part, clean))
    // Thoughts are over once the answer itself begins.
    else if (last ? main || open.includes(field) : answers && open.includes(field))
      keep(rest, field, fields.close(field))
  }
  return changes
}

/** Takes the tool calls of what a choice says. Returns them without what is held back. */
function pushCalls({ fields, keeper, clean }: Parts, says: Says, { last, rest }: Turn): Says {
  const { tool_calls: calls, function_call: legacy } = says
  const given = Array.isArray(calls) ? (calls as ToolCall[]) : []
  if (given.length > 0 || legacy) fields.calls()
  if (!keeper) return {}
  const kept = keeper.push(given)
  const ended = last ? keeper.end() : []
  if (ended.length > 0) rest['tool_calls'] = ended
  const whole = last && legacy ? cleanedCall(legacy as Says, clean) : undefined
  return { ...(given.length > 0 ? { tool_calls: kept } : {}), ...(whole ? { function_call: whole } : {}) }
}

function cleanedCall(call: Says, clean: (text: string) => string): Says {
  const { arguments: args } = call
  return typeof args === 'string' ? { ...call, arguments: cleanJsonText(args, clean) } : call
}

function cleanPart(part: ContentPart, clean: (text: string) => string): ContentPart {
  return typeof part.text === 'string' ? { ...part, text: clean(part.text) } : part
}

function changedChoice(choice: ChunkChoice, says: Says, changes: Says): { choice?: ChunkChoice } {
  if (Object.keys(changes).length === 0) return { choice }
  const next: Says = { ...says, ...changes }
  if (saysNothing(next) && !choice.finish_reason) return {}
  // The tokens of text that was held back or changed would tell it.
  const { logprobs, ...rest } = choice
  const told = logprobs === undefined ? rest : { ...rest, logprobs: null }
  return { choice: (choice.delta ? { ...told, delta: next } : { ...told, ...next }) as ChunkChoice }
}

function saysNothing(says: Says): boolean {
  const isNothing = (value: unknown): boolean =>
    value === '' || value === null || value === undefined || (Array.isArray(value) && value.length === 0)
  return Object.values(says).every(isNothing)
}
