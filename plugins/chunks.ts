import type { Chunk, ChunkChoice, Message, ToolCall, Usage } from './chat.ts'

/** A whole answer, as a non-streamed call gets it: chat completion, text completion, embedding list or whatever came. */
export interface Completion {
  readonly id?: string
  readonly object?: string
  readonly model?: string
  readonly choices?: readonly CompletionChoice[]
  readonly usage?: Usage | null
  readonly [member: string]: unknown
}

/** One choice of a whole answer. */
export interface CompletionChoice {
  readonly index: number
  readonly message?: Message
  readonly text?: string
  readonly finish_reason?: string | null
  readonly [member: string]: unknown
}

/** A whole answer as the one chunk that adds all of it. Every member is kept. */
export function chunkFromCompletion(completion: Completion): Chunk {
  if (!Array.isArray(completion.choices)) return completion as Chunk
  const choices = completion.choices.map((choice: CompletionChoice): ChunkChoice => {
    const { message, ...rest } = choice
    return message === undefined ? (rest as ChunkChoice) : ({ ...rest, delta: message } as ChunkChoice)
  })
  const object = completion.object === 'chat.completion' ? 'chat.completion.chunk' : completion.object
  return { ...completion, ...(object === undefined ? {} : { object }), choices } as Chunk
}

/** Chunks as the whole answer they add up to (OpenAI chat and text completions). */
export function completionFromChunks(chunks: Iterable<Chunk>): Completion {
  const whole: Record<string, unknown> = {}
  const choices = new Map<number, ChoiceSoFar>()
  for (const chunk of chunks) {
    for (const [key, value] of Object.entries(chunk)) {
      if (key === 'choices' || value === undefined) continue
      if (value !== null || !(key in whole)) whole[key] = value
    }
    for (const choice of chunk.choices ?? []) {
      addChoice(choices, choice)
    }
    if (chunk.choices && !('choices' in whole)) whole['choices'] = []
  }
  if (whole['object'] === 'chat.completion.chunk') whole['object'] = 'chat.completion'
  if ('choices' in whole) whole['choices'] = [...choices.values()].sort((a, b) => a.index - b.index).map(finished)
  return whole as Completion
}

interface ChoiceSoFar {
  readonly index: number
  readonly rest: Record<string, unknown>
  message: Record<string, unknown> | undefined
  calls: CallSoFar[]
  text: string | undefined
}

interface CallSoFar {
  readonly slot: number
  readonly call: Record<string, unknown>
}

function addChoice(choices: Map<number, ChoiceSoFar>, choice: ChunkChoice): void {
  const index = choice.index ?? 0
  let so = choices.get(index)
  if (!so) {
    so = { index, rest: {}, message: undefined, calls: [], text: undefined }
    choices.set(index, so)
  }
  for (const [key, value] of Object.entries(choice)) {
    if (key === 'index' || value === undefined) continue
    if (key === 'delta') addDelta(so, value as Record<string, unknown>)
    else if (key === 'text') so.text = (so.text ?? '') + String(value)
    else if (key === 'logprobs') so.rest[key] = mergeLists(so.rest[key], value)
    else if (value !== null || !(key in so.rest)) so.rest[key] = value
  }
}

function addDelta(so: ChoiceSoFar, delta: Record<string, unknown>): void {
  so.message ??= {}
  for (const [key, value] of Object.entries(delta ?? {})) {
    if (key === 'tool_calls' && Array.isArray(value)) for (const call of value) addToolCall(so.calls, call as ToolCall)
    else if (key === 'role') so.message[key] ??= value
    else so.message[key] = mergeMember(so.message[key], value)
  }
}

function mergeMember(old: unknown, value: unknown): unknown {
  if (value === undefined || (value === null && old !== undefined)) return old
  if (typeof old === 'string' && typeof value === 'string') return old + value
  if (Array.isArray(old) && Array.isArray(value)) return [...old, ...value]
  return value
}

/**
 * Fragments of a tool call belong together by `index`; a new non-empty `id` at an index that has one already starts
 * another call (some servers count every call as index 0).
 */
function addToolCall(calls: CallSoFar[], part: ToolCall): void {
  const slot = part.index ?? 0
  let open = calls.findLast((each) => each.slot === slot)
  if (!open || (part.id && open.call['id'] && open.call['id'] !== part.id)) {
    open = { slot, call: {} }
    calls.push(open)
  }
  for (const [key, value] of Object.entries(part)) {
    if (key === 'index' || value === undefined || value === null) continue
    if (key === 'function') open.call[key] = mergeFunction(open.call[key], value)
    else open.call[key] = value
  }
}

function mergeFunction(old: unknown, value: unknown): unknown {
  const so: Record<string, unknown> = { ...(old as object) }
  for (const [key, each] of Object.entries(value as object)) {
    so[key] = key === 'arguments' && typeof so[key] === 'string' ? `${so[key]}${each}` : each
  }
  return so
}

function mergeLists(old: unknown, value: unknown): unknown {
  if (!old || !value || typeof old !== 'object' || typeof value !== 'object') return value ?? old
  const merged: Record<string, unknown> = { ...old }
  for (const [key, list] of Object.entries(value)) {
    merged[key] = Array.isArray(merged[key]) && Array.isArray(list) ? [...(merged[key] as unknown[]), ...list] : list
  }
  return merged
}

function finished(so: ChoiceSoFar): CompletionChoice {
  const { index, rest, message, calls, text } = so
  if (!message) return { index, ...(text === undefined ? {} : { text }), ...rest }
  // A chat message without content says null, as the API does for pure tool calls.
  const whole: Record<string, unknown> = { role: 'assistant', content: null, ...message }
  if (calls.length > 0) whole['tool_calls'] = calls.map((each) => each.call)
  return { index, message: whole as Message, ...rest }
}

/**
 * A whole answer as the chunks of a stream: for each choice what it says, then how it finished, then, when asked for, the usage chunk
 * with no choices (`stream_options.include_usage`).
 */
export function chunksFromCompletion(completion: Completion, includeUsage: boolean): Chunk[] {
  const { choices, usage, ...head } = chunkFromCompletion(completion)
  if (!choices) return [completion as Chunk]
  const chunks: Chunk[] = []
  for (const choice of choices) {
    const { finish_reason, ...says } = withCallIndices(choice)
    const empty = choice.delta === undefined ? { text: '' } : { delta: {} }
    chunks.push({ ...head, choices: [{ ...says, finish_reason: null }] })
    chunks.push({ ...head, choices: [{ index: choice.index, ...empty, finish_reason: finish_reason ?? null }] })
  }
  if (includeUsage && usage) chunks.push({ ...head, choices: [], usage })
  return chunks
}

function withCallIndices(choice: ChunkChoice): ChunkChoice {
  const calls = choice.delta?.tool_calls
  if (!Array.isArray(calls)) return choice
  return { ...choice, delta: { ...choice.delta, tool_calls: calls.map((call, index) => ({ index, ...call })) } }
}

/** True when every choice that began has a finish reason: the answer is whole, not cut off. */
export function isComplete(completion: Completion): boolean {
  const { choices } = completion
  return !choices || (choices.length > 0 && choices.every((choice) => typeof choice.finish_reason === 'string'))
}

/** The chunk is only the usage report that `include_usage` asks for. */
export function isUsageOnly(chunk: Chunk): boolean {
  return chunk.usage !== undefined && chunk.usage !== null && Array.isArray(chunk.choices) && chunk.choices.length === 0
}
