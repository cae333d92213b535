import type { EndedCall } from './ended-call.ts'
import { most, type Overflow } from './overflow.ts'
import type { RolloutBook } from './rollout-book.ts'
import type { StepStart } from './step-start.ts'

/** The books of the rollouts that this process knows. */
export interface Shelf {
  find(rollout: string): RolloutBook | undefined
  /** The book of a rollout; opened where nobody has said yet that it has begun. */
  bookFor(call: Pick<EndedCall, 'rollout'> & Partial<Pick<EndedCall, 'step'>>): RolloutBook
  begin(start: StepStart): void
  drop(rollout: string): void
}

/** Makes a {@link Shelf} of four books at most: the oldest makes room. */
export function createShelf(open: (start: StepStart) => RolloutBook, overflow: Overflow): Shelf {
  const books = new Map<string, { readonly book: RolloutBook; told: string }>()
  const put = (start: StepStart, told: string): RolloutBook => {
    const [oldest] = books.keys()
    if (books.size >= most.rollouts && oldest !== undefined) {
      overflow.add('rollouts')
      books.delete(oldest)
    }
    const book = open(start)
    books.set(start.rollout, { book, told })
    return book
  }
  return {
    find: (rollout) => books.get(rollout)?.book,
    bookFor({ rollout, step = 'S1' }) {
      // Calls of a step may end before this process has heard of it.
      return books.get(rollout)?.book ?? put({ rollout, step, startedAt: 0 }, '')
    },
    begin(start) {
      const known = books.get(start.rollout)
      const told = `${start.step} ${start.startedAt}`
      if (!known) put(start, told)
      else if (known.told !== told) {
        known.told = told
        known.book.begin(start)
      }
    },
    drop(rollout) {
      books.delete(rollout)
    },
  }
}
