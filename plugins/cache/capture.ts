import type { Chunk, ChunkChoice } from '../chat.ts'
import { type Completion, completionFromChunks } from '../chunks.ts'

/** Collects an answer while it goes by. */
export interface Capture {
  add(chunk: Chunk): void
  /** True once it has outgrown the bound; nothing is held from then on. */
  readonly overflowed: boolean
  /** The answer so far, or undefined when it outgrew the bound. */
  completion(): Completion | undefined
}

/** Roughly what one held chunk costs beside its text, in bytes. */
const chunkBytes = 128

/**
 * Makes a {@link Capture} of at most about `maxBytes`. Consecutive chunks that only add text to a choice are held as one, so that an
 * answer costs about what it says, not one object a token.
 */
export function createCapture(maxBytes: number): Capture {
  const held = new Map<string, Chunk>()
  // Text is never moved past a chunk that says more: those begin a new stretch.
  let stretch = 0
  let bytes = 0
  let overflowed = false
  const hold = (chunk: Chunk): void => {
    const text = plainText(chunk)
    if (!text) {
      stretch++
      held.set(`${stretch}!`, chunk)
      bytes += chunkBytes + JSON.stringify(chunk).length
      return
    }
    const key = `${stretch}:${text.index}:${text.field}`
    const before = held.get(key)
    bytes += text.added.length + (before ? 0 : chunkBytes)
    // To the end: what a chunk says of the whole answer, the last one says best.
    held.delete(key)
    held.set(key, before ? joined(before, chunk, text) : chunk)
  }
  return {
    add(chunk) {
      if (overflowed) return
      hold(chunk)
      if (bytes <= maxBytes) return
      overflowed = true
      held.clear()
    },
    get overflowed() {
      return overflowed
    },
    completion() {
      const [only] = held.values()
      if (overflowed) return undefined
      return (held.size === 1 && only && completionFromOnly(only)) || completionFromChunks(held.values())
    },
  }
}

interface PlainText {
  readonly index: number
  /** `text`, or the member of `delta`. */
  readonly field: string
  readonly added: string
}

const choiceMembers: ReadonlySet<string> = new Set(['index', 'delta', 'text', 'finish_reason', 'logprobs'])

/** What a chunk adds when all it does is add text to one choice. */
function plainText(chunk: Chunk): PlainText | undefined {
  if (!Array.isArray(chunk.choices) || chunk.choices.length !== 1) return undefined
  const choice = chunk.choices[0] as ChunkChoice | null
  if (!choice) return undefined
  for (const key in choice) if (!choiceMembers.has(key)) return undefined
  const { delta, index, text } = choice
  if (choice.finish_reason || choice['logprobs'] || typeof index !== 'number') return undefined
  if (delta === undefined) return typeof text === 'string' ? { index, field: 'text', added: text } : undefined
  return text === undefined ? plainDelta(delta, index) : undefined
}

function plainDelta(delta: NonNullable<ChunkChoice['delta']>, index: number): PlainText | undefined {
  let only: PlainText | undefined
  for (const key in delta) {
    if (key === 'role') continue
    const added = delta[key]
    if (only || typeof added !== 'string') return undefined
    only = { index, field: `delta.${key}`, added }
  }
  return only
}

function joined(before: Chunk, chunk: Chunk, { field, added }: PlainText): Chunk {
  const [old] = before.choices as readonly [ChunkChoice]
  const choice: ChunkChoice =
    field === 'text'
      ? { ...old, text: `${old.text}${added}` }
      : { ...old, delta: { ...old.delta, [field.slice(6)]: `${old.delta?.[field.slice(6)]}${added}` } }
  const head: Record<string, unknown> = { ...before }
  for (const [key, value] of Object.entries(chunk)) if (value !== null || !(key in head)) head[key] = value
  return { ...head, choices: [choice] }
}

/**
 * A whole answer that came as one JSON document, as it was: nothing needs adding up, so nothing can be lost by it. Undefined when the
 * chunk is not one, or has the marks of a stream.
 */
function completionFromOnly(chunk: Chunk): Completion | undefined {
  const { choices } = chunk
  if (!Array.isArray(choices) || chunk.object !== 'chat.completion.chunk') return undefined
  const whole = choices.map((choice: ChunkChoice) => {
    const { delta, ...rest } = choice
    const marked = !delta?.role || !choice.finish_reason || delta.tool_calls?.some((call) => call.index !== undefined)
    return marked ? undefined : { ...rest, message: delta }
  })
  if (whole.includes(undefined)) return undefined
  return { ...chunk, object: 'chat.completion', choices: whole } as Completion
}
