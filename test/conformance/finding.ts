/** What a case found wanting, in words. */
export interface Wants {
  /** What was asked of the runner. */
  readonly asked: string
  /** What came. */
  readonly came: string
  /** What the protocol says. */
  readonly must: string
}

/** Thrown by a case that does not hold. */
export class Wanting extends Error {
  readonly wants: Wants
  constructor(wants: Wants) {
    super(wants.must)
    this.name = 'Wanting'
    this.wants = wants
  }
}

/** Thrown by a case that cannot be tried on this runner. */
export class Skipped extends Error {}

/** Thrown when no answer came; `reached` tells whether a connection was made at all. */
export class NoAnswer extends Error {
  readonly asked: string
  readonly reached: boolean
  constructor(asked: string, why: string, reached: boolean) {
    super(why)
    this.asked = asked
    this.reached = reached
  }
}

/** Throws {@link Skipped} unless there is a value. */
export function needed<T>(value: T | undefined, why: string): T {
  if (value === undefined) throw new Skipped(why)
  return value
}
