/** One thing that has to hold before a step is left: what it is now, what it must be, and how much has been seen of it. */
export interface Gate {
  readonly name: string
  readonly value: number
  /** `value` has to be `at` least or most this. */
  readonly threshold: number
  readonly at: 'least' | 'most'
  /** Observations so far, and how many it takes; 0: any. */
  readonly n: number
  readonly needs: number
  readonly met: boolean
}

/** What a {@link Gate} is made of. */
export interface GateInput {
  readonly value: number
  readonly threshold: number
  readonly n?: number
  readonly needs?: number
}

/** A gate whose value must be at least the threshold. */
export function gateAtLeast(name: string, input: GateInput): Gate {
  return gate(name, 'least', input)
}

/** A gate whose value must be at most the threshold. */
export function gateAtMost(name: string, input: GateInput): Gate {
  return gate(name, 'most', input)
}

function gate(name: string, at: Gate['at'], { value, threshold, n = value, needs = 0 }: GateInput): Gate {
  const met = (at === 'least' ? value >= threshold : value <= threshold) && n >= needs
  return { name, value: finite(value), threshold, at, n: finite(n), needs, met }
}

/** JSON has no infinity. */
function finite(value: number): number {
  return Math.max(-Number.MAX_VALUE, Math.min(Number.MAX_VALUE, value))
}
