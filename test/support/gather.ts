import { within } from './gate.ts'

/** A list that grows while others wait for a place in it to be filled. */
export interface Gathering<T> {
  readonly items: readonly T[]
  add(item: T): void
  /** The item at place `index` (from 0), as soon as there is one; rejects after the rig's patience. */
  at(index: number): Promise<T>
  /** Resolves when the condition holds; looked at after every `add`. */
  when(condition: () => boolean, what: () => string): Promise<void>
}

/** An empty list; `name` is what its items are called in error messages. */
export function createGathering<T>(name: string): Gathering<T> {
  const items: T[] = []
  const waiting = new Set<() => void>()
  const when = (condition: () => boolean, what: () => string) => {
    if (condition()) return Promise.resolve()
    const { promise, resolve } = Promise.withResolvers<void>()
    const look = () => {
      if (condition()) resolve()
    }
    waiting.add(look)
    return within(promise, what).finally(() => waiting.delete(look))
  }
  return {
    items,
    when,
    add(item) {
      items.push(item)
      for (const look of [...waiting]) look()
    },
    async at(index) {
      await when(
        () => items.length > index,
        () => `${name} ${index} (there are ${items.length})`,
      )
      return items[index]!
    },
  }
}
