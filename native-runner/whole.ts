import type { Delta, Piece, Usage } from './engine.ts'
import { isObject } from './fields.ts'
import { refusal } from './refusal.ts'
import { type Envelope, headFrom } from './wire.ts'

type ToolCall = Record<string, unknown>

interface Choice {
  readonly parts: Map<string, string[]>
  readonly members: Record<string, unknown>
  readonly calls: ToolCall[]
  /** The call that fragments of a stream index belong to now. */
  readonly open: Map<unknown, ToolCall>
  readonly logprobs: unknown[]
  reason: string | null
}

function addFragment(choice: Choice, fragment: Record<string, unknown>): void {
  const { index = 0, id } = fragment
  const known = choice.open.get(index)
  const called = isObject(fragment['function']) ? fragment['function'] : {}
  // Servers reuse an index for several calls: another id is another call.
  if (known === undefined || (typeof id === 'string' && id !== '' && known['id'] !== undefined && known['id'] !== id)) {
    const { index: _, ...rest } = fragment
    const call = { ...rest, function: { arguments: '', ...called } }
    choice.calls.push(call)
    choice.open.set(index, call)
    return
  }
  const target = known['function'] as Record<string, unknown>
  if (typeof called['name'] === 'string') target['name'] ??= called['name']
  if (typeof called['arguments'] === 'string')
    target['arguments'] = `${target['arguments'] ?? ''}${called['arguments']}`
  if (id !== undefined) known['id'] ??= id
}

function addDelta(choice: Choice, delta: Delta): void {
  for (const [name, value] of Object.entries(delta)) {
    if (name === 'tool_calls' && Array.isArray(value))
      value.filter(isObject).forEach((call) => void addFragment(choice, call))
    else if (typeof value === 'string') {
      const parts = choice.parts.get(name)
      if (parts) parts.push(value)
      else choice.parts.set(name, [value])
    } else if (value !== null && value !== undefined) choice.members[name] = value
  }
}

function logprobsFrom(choice: Choice): unknown {
  const content = choice.logprobs.flatMap((entry) =>
    isObject(entry) && Array.isArray(entry['content']) ? entry['content'] : [],
  )
  return content.length > 0 ? { content } : (choice.logprobs.at(-1) ?? null)
}

function wireFromChoice(envelope: Envelope, index: number, choice: Choice): Record<string, unknown> {
  const texts = Object.fromEntries([...choice.parts].map(([name, parts]) => [name, parts.join('')]))
  const logprobs = logprobsFrom(choice)
  if (envelope.kind === 'completion')
    return { index, text: texts['content'] ?? '', logprobs, finish_reason: choice.reason }
  const content = texts['content'] ?? (choice.calls.length > 0 ? null : '')
  const calls = choice.calls.length > 0 ? { tool_calls: choice.calls } : {}
  const message = { role: 'assistant', ...choice.members, ...texts, content, refusal: null, ...calls }
  return { index, message, logprobs, finish_reason: choice.reason }
}

/**
 * The whole answer that pieces add up to, in the OpenAI dialect; fragments of tool calls are joined by choice, index and
 * id. Throws `engine_failed` when the pieces end before every choice did.
 */
export async function wholeFromPieces(
  envelope: Envelope,
  pieces: AsyncIterable<Piece>,
): Promise<Record<string, unknown>> {
  const choices = new Map<number, Choice>()
  const choiceAt = (index: number): Choice => {
    const known = choices.get(index)
    const choice = known ?? { parts: new Map(), members: {}, calls: [], open: new Map(), logprobs: [], reason: null }
    if (!known) choices.set(index, choice)
    return choice
  }
  let usage: Usage | null = null
  for await (const piece of pieces) {
    if (piece.kind === 'usage') usage = piece.usage
    else if (piece.kind === 'finish') choiceAt(piece.index).reason = piece.reason
    else {
      const choice = choiceAt(piece.index)
      addDelta(choice, piece.delta)
      if (piece.logprobs) choice.logprobs.push(piece.logprobs)
    }
  }
  const ordered = [...choices].sort(([a], [b]) => a - b)
  if (ordered.length === 0 || ordered.some(([, { reason }]) => reason === null))
    throw refusal('engine_failed', 'the engine ended before its answer did')
  return {
    ...headFrom(envelope, false),
    choices: ordered.map(([at, choice]) => wireFromChoice(envelope, at, choice)),
    usage,
  }
}
