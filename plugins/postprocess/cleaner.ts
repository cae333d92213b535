import type { Chunk, ChunkChoice } from '../chat.ts'
import type { Transform } from '../reply.ts'
import { type ChoiceCleaner, createChoiceCleaner } from './choice.ts'
import type { Annotation, Cleaning } from './cleaning.ts'

/**
 * Cleans an answer chunk by chunk, streamed or whole. Choices are independent; what is held back of one leaves before the chunk that
 * finishes it; chunks that nothing changes keep their bytes. Annotations stand under `foldgate` in the chunk that finishes their choice.
 * `notes` are those there are already. Throws `output_invalid` before anything that is blocked has left.
 */
export function createCleaner(cleaning: Cleaning, notes: Annotation[] = []): Transform {
  const choices = new Map<number, ChoiceCleaner>()
  let head: Chunk = {}
  const cleanerOf = (index: number): ChoiceCleaner => {
    let cleaner = choices.get(index)
    if (!cleaner) {
      cleaner = createChoiceCleaner(cleaning, index, notes)
      choices.set(index, cleaner)
    }
    return cleaner
  }
  const take = (chunk: Chunk, given: readonly ChunkChoice[]): readonly Chunk[] => {
    const before: ChunkChoice[] = []
    const now: ChunkChoice[] = []
    let same = true
    for (const choice of given) {
      const index = choice.index ?? 0
      const cleaned = cleanerOf(index).push(choice)
      if (cleaned.before) before.push(cleaned.before)
      if (cleaned.choice) now.push(cleaned.choice)
      if (cleaned.choice !== choice) same = false
      if (typeof choice.finish_reason === 'string') choices.delete(index)
    }
    const { usage, choices: _choices, ...rest } = chunk
    head = rest
    const finishes = notes.length > 0 && given.some((choice) => typeof choice.finish_reason === 'string')
    const out: Chunk[] = before.length > 0 ? [{ ...rest, choices: before }] : []
    if (finishes) out.push({ ...chunk, choices: now, foldgate: { annotations: [...notes] } })
    else if (same) out.push(chunk)
    else if (now.length > 0) out.push({ ...chunk, choices: now })
    // A server that reports usage as it goes is to be heard even when nothing of the text may leave yet.
    else if (usage) out.push({ ...chunk, choices: given.map(emptied) })
    return out
  }
  return {
    push: (chunk) => (chunk.choices && chunk.choices.length > 0 ? take(chunk, chunk.choices) : chunk),
    end() {
      const rest = [...choices.values()].flatMap((cleaner) => cleaner.end() ?? [])
      return rest.length > 0 ? [{ ...head, choices: rest }] : []
    },
  }
}

function emptied({ index, delta }: ChunkChoice): ChunkChoice {
  return { index, ...(delta ? { delta: {} } : { text: '' }), finish_reason: null }
}
