import type { Chunk, ChunkChoice, ToolCall } from '../../../plugins/chat.ts'
import { errorInChunk } from '../../../plugins/reported-error.ts'
import type { Breaks } from './stream-invariant.ts'
import type { StreamRoom } from './stream-memory.ts'

/** Holds the chunks of one stream to the invariants that are about chunks. */
export interface ChunkRules {
  /** Gives the bytes of content in it. */
  push(chunk: Chunk): number
  /** What is missing in a stream that has ended whole. */
  end(): void
  /** The runner reported an error in band. */
  readonly errored: boolean
  /** Arguments outgrew the memory, and are not checked. */
  readonly tooLarge: boolean
}

/** What chunks are held to. */
export interface ChunkRulesParts {
  readonly breaks: Breaks
  /** Room for the arguments of tool calls, the only thing that is kept. */
  readonly room: StreamRoom
  /** Usage was asked for. */
  readonly usage: boolean
}

interface ChoiceState {
  spoke: boolean
  role: boolean
  finish: string | undefined
  readonly calls: CallState[]
}

interface CallState {
  readonly id: string | undefined
  text: string
}

interface State extends ChunkRulesParts {
  readonly head: Map<string, unknown>
  readonly choices: Map<number, ChoiceState>
  usageSeen: boolean
}

/** More choices than any request may ask for; further ones are not followed. */
const mostChoices = 128

/** Makes {@link ChunkRules}. */
export function createChunkRules(parts: ChunkRulesParts): ChunkRules {
  const state: State = { ...parts, head: new Map(), choices: new Map(), usageSeen: false }
  let errored = false
  return {
    get errored() {
      return errored
    },
    get tooLarge() {
      return parts.room.full
    },
    push(chunk) {
      errored ||= errorInChunk(chunk) !== undefined
      if (errored) return 0
      checkHead(state, chunk)
      checkUsage(state, chunk)
      let content = 0
      for (const choice of chunk.choices ?? []) content += checkChoice(state, choice, Boolean(chunk.usage))
      return content
    },
    end: () => checkEnd(state),
  }
}

function checkHead({ head, breaks }: State, chunk: Chunk): void {
  for (const name of ['id', 'model', 'created']) {
    const value = chunk[name]
    // Some servers send a first chunk about the prompt that has none of them.
    if (value === undefined || value === null || value === '' || value === 0) continue
    if (!head.has(name)) head.set(name, value)
    else if (head.get(name) !== value) breaks.note('one-head', name)
  }
}

function checkUsage(state: State, { usage }: Chunk): void {
  if (usage === undefined || usage === null) return
  state.usageSeen = true
  if (!state.usage) state.breaks.note('usage-as-asked', 'unasked')
}

function checkChoice(state: State, choice: ChunkChoice, withUsage: boolean): number {
  const { breaks, choices } = state
  const { index, delta, text, finish_reason: finish } = choice
  if (!Number.isInteger(index) || index < 0 || index >= mostChoices) {
    breaks.note('indices', 'choice')
    return 0
  }
  let so = choices.get(index)
  if (!so) {
    so = { spoke: false, role: false, finish: undefined, calls: [] }
    choices.set(index, so)
  }
  const says = contentBytes(choice)
  if (so.finish !== undefined) {
    if (finish) breaks.note('one-finish', 'twice')
    // Some servers repeat the choice, empty, with the usage.
    else if (!withUsage || says > 0) breaks.note('one-finish', 'after')
    return says
  }
  if (delta?.role) checkRole(so, breaks)
  if (delta !== undefined || text !== undefined) so.spoke = true
  for (const call of callsIn(choice)) checkCall(state, so, call)
  if (finish) so.finish = finish
  return says
}

function checkRole(so: ChoiceState, breaks: Breaks): void {
  if (so.role) breaks.note('role-first', 'twice')
  else if (so.spoke) breaks.note('role-first', 'late')
  so.role = true
}

function checkCall({ breaks, room }: State, { calls }: ChoiceState, { index, id, function: called }: ToolCall): void {
  const at = index ?? -1
  if (at !== calls.length && (at < 0 || at > calls.length)) {
    breaks.note('indices', 'call')
    return
  }
  if (at === calls.length) calls.push({ id, text: '' })
  const call = calls[at] as CallState
  if (id && call.id && id !== call.id) breaks.note('indices', 'call')
  const text = called?.arguments
  if (typeof text !== 'string' || text === '') return
  if (room.take(text.length * 2)) call.text += text
  else for (const each of calls) each.text = ''
}

function contentBytes(choice: ChunkChoice): number {
  const { delta, text } = choice
  const { content, reasoning, reasoning_content: thoughts, refusal } = delta ?? {}
  let bytes = 0
  for (const each of [text, content, reasoning, thoughts, refusal]) {
    if (typeof each === 'string') bytes += Buffer.byteLength(each)
  }
  for (const { function: called } of callsIn(choice)) {
    if (typeof called?.arguments === 'string') bytes += Buffer.byteLength(called.arguments)
  }
  return bytes
}

/** What is no list of objects is no call. */
function callsIn({ delta }: ChunkChoice): readonly ToolCall[] {
  const calls: unknown = delta?.tool_calls
  return Array.isArray(calls) ? calls.filter((call) => call !== null && typeof call === 'object') : []
}

function checkEnd({ choices, breaks, room, usage, usageSeen }: State): void {
  for (let index = 0; index < choices.size; index++) {
    if (!choices.has(index)) breaks.note('indices', 'choice')
  }
  for (const { finish, calls } of choices.values()) {
    if (finish === undefined) breaks.note('one-finish', 'missing')
    // What was cut off for its length is no JSON, and nobody's fault.
    const cut = finish === 'length' || finish === 'content_filter'
    if (!cut && !room.full && calls.some(({ text }) => text !== '' && !isJson(text)))
      breaks.note('indices', 'arguments')
  }
  if (choices.size === 0) breaks.note('one-finish', 'missing')
  if (usage && !usageSeen) breaks.note('usage-as-asked', 'missing')
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
