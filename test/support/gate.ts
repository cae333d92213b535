/** A door that a test opens once; whoever waits at it goes on from then on. */
export interface Gate {
  /** Resolves when the gate opens, at once if it is open. */
  readonly opened: Promise<void>
  readonly isOpen: boolean
  /** Opens the gate; opening twice changes nothing. */
  open(): void
}

/** A new gate, closed. */
export function createGate(): Gate {
  const { promise, resolve } = Promise.withResolvers<void>()
  let isOpen = false
  return {
    opened: promise,
    get isOpen() {
      return isOpen
    },
    open() {
      isOpen = true
      resolve()
    },
  }
}

/** How long the rig waits for a fact before it says which one did not happen, in milliseconds. */
export const PATIENCE_MS = 4_000

/** The promise's value, or after `waitMs` an error that names what did not happen. `what` is asked only then. */
export async function within<T>(promise: Promise<T>, what: () => string, waitMs = PATIENCE_MS): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not within ${waitMs} ms: ${what()}`)), waitMs)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}

/** Asks `ask` every few milliseconds until it is true; throws, naming `what`, when it is not after `waitMs`. */
export async function until(
  ask: () => boolean | Promise<boolean>,
  what: string | (() => string),
  waitMs = PATIENCE_MS,
): Promise<void> {
  const end = performance.now() + waitMs
  while (!(await ask())) {
    if (performance.now() > end) throw new Error(`not within ${waitMs} ms: ${typeof what === 'string' ? what : what()}`)
    await new Promise((next) => setTimeout(next, 5))
  }
}

/** Resolves with a number, above 0, once it has stopped changing for some looks in a row (60 ms). */
export async function steady(read: () => number, what: string, waitMs = PATIENCE_MS): Promise<number> {
  let last = 0
  let same = 0
  const ask = () => {
    const now = read()
    same = now > 0 && now === last ? same + 1 : 0
    last = now
    return same >= 12
  }
  await until(ask, `${what} stands still`, waitMs)
  return last
}
