/**
 * Several iterables as one, in the order their items come. Each source is asked for one item at a time, only after its
 * last one was taken, so a slow reader slows all of them. The first error, or an early return, ends every source.
 */
export async function* merge<T>(sources: readonly AsyncIterable<T>[]): AsyncGenerator<T, void, void> {
  const iterators = sources.map((source) => source[Symbol.asyncIterator]())
  const pending = new Map<number, Promise<{ at: number; result: IteratorResult<T> }>>()
  const ask = (at: number): void => {
    pending.set(
      at,
      iterators[at]!.next().then((result) => ({ at, result })),
    )
  }
  for (const at of iterators.keys()) ask(at)
  try {
    while (pending.size > 0) {
      const { at, result } = await Promise.race(pending.values())
      if (result.done) {
        pending.delete(at)
        continue
      }
      pending.delete(at)
      yield result.value
      ask(at)
    }
  } finally {
    // The sources still running are told to stop; nobody waits for their last answer, nor hears it fail.
    for (const promise of pending.values()) promise.catch(() => undefined)
    for (const iterator of iterators) iterator.return?.()?.catch?.(() => undefined)
  }
}
