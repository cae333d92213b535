import type { Answer } from '../../answer.ts'
import type { StreamTee } from '../diff/stream-memory.ts'

/** Hears how an answer goes by. */
export interface AnswerEar {
  readonly tee: StreamTee
  /** Its first byte has left. */
  begun(): void
  /** It is over; false: it broke off. Once. */
  ended(whole: boolean): void
}

/** The same answer, heard as it goes by: nothing waits for whoever hears. */
export function heardAnswer(answer: Answer, ear: AnswerEar): Answer {
  if (answer.streamed) return { ...answer, parts: heardParts(answer.parts, ear) }
  return {
    ...answer,
    async whole() {
      let whole = false
      try {
        const body = await answer.whole()
        ear.tee.push(body)
        whole = true
        return body
      } finally {
        ear.begun()
        ear.ended(whole)
      }
    },
  }
}

async function* heardParts(parts: AsyncIterable<Buffer | string>, ear: AnswerEar): AsyncGenerator<Buffer | string> {
  let [begun, whole] = [false, false]
  try {
    for await (const part of parts) {
      yield part
      ear.tee.push(typeof part === 'string' ? Buffer.from(part) : part)
      if (!begun) ear.begun()
      begun = true
    }
    whole = true
  } finally {
    ear.ended(whole)
  }
}
