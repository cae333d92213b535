import type { Refusal } from '../refusal.ts'
import type { Work } from './engine-work.ts'
import type { FromEngine } from './llama-messages.ts'

/** The works in progress at one engine process. */
export interface Works {
  add(work: Work): void
  receive(message: FromEngine): void
  failAll(error: Refusal): void
  /** Stops looking for overdue works. */
  stop(): void
}

/** An empty record; `onOverdue` is told, four times a second at most, while some work is overdue. */
export function createWorks(onOverdue: () => void): Works {
  const works = new Map<number, Work>()
  let seen = 0
  const clock = setInterval(() => {
    const now = performance.now()
    seen = [...works.values()].some((work) => work.overdue(now)) ? seen + 1 : 0
    // Twice in a row: after a pause of our own, the first look comes before the messages that wait to be read.
    if (seen > 1) onOverdue()
  }, 250)
  clock.unref()
  return {
    add(work) {
      works.set(work.id, work)
      work.ended.then(() => works.delete(work.id))
    },
    receive: (message) => works.get(message.id)?.receive(message),
    failAll(error) {
      for (const work of works.values()) work.fail(error)
      works.clear()
    },
    stop: () => clearInterval(clock),
  }
}
