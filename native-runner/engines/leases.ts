import type { Sequence } from './native.ts'

/** A sequence while one call uses it. */
export interface Lease {
  readonly sequence: Sequence
  /** Prompt tokens whose state was kept from before. */
  readonly cached: number
  /** Gives the sequence back; `spoiled` when its state cannot be trusted any more. */
  release(spoiled: boolean): void
}

/** Hands out the sequences of a context, keeping what they know where the next call can use it. */
export interface Leases {
  /**
   * Waits for a sequence and fits it to a prompt. Among the free ones it takes the one of the same scope that knows the
   * longest beginning of it, else one never used, else the one idle longest. A sequence of another scope is cleared
   * first, so no scope ever profits from, or can probe, what another one said.
   */
  lease(tokens: readonly number[], scope: string): Promise<Lease>
}

interface Place {
  readonly sequence: Sequence
  scope: string | undefined
  usedAt: number
  spoiled: boolean
}

function sharedLength(a: readonly number[], b: readonly number[]): number {
  let at = 0
  while (at < a.length && at < b.length && a[at] === b[at]) at++
  return at
}

/** The best of the free places; `free` is not empty. */
function choose(free: readonly Place[], tokens: readonly number[], scope: string): Place {
  const known = free
    .filter((place) => place.scope === scope)
    .map((place) => ({ place, shared: sharedLength(place.sequence.contextTokens, tokens) }))
    .sort((a, b) => b.shared - a.shared)[0]
  const unused = free.find((place) => place.scope === undefined)
  // A little in common, such as a system prompt, is not worth another conversation's state while there is empty room.
  const worth = known && known.shared > 0 && (!unused || known.shared * 2 >= known.place.sequence.contextTokens.length)
  if (worth) return known.place
  return unused ?? free.reduce((oldest, place) => (place.usedAt < oldest.usedAt ? place : oldest))
}

/** Leases over the sequences of one context. */
export function createLeases(sequences: readonly Sequence[]): Leases {
  const free = new Set<Place>(sequences.map((sequence) => ({ sequence, scope: undefined, usedAt: 0, spoiled: false })))
  const waiting: (() => void)[] = []
  let clock = 0
  const release = (place: Place, spoiled: boolean): void => {
    place.spoiled ||= spoiled
    place.usedAt = ++clock
    free.add(place)
    waiting.shift()?.()
  }
  return {
    async lease(tokens, scope) {
      while (free.size === 0) await new Promise<void>((resolve) => void waiting.push(resolve))
      const place = choose([...free], tokens, scope)
      free.delete(place)
      try {
        const foreign = place.scope !== undefined && place.scope !== scope
        if (foreign || place.spoiled) await place.sequence.clearHistory()
        place.spoiled = false
        place.scope = scope
        // The last token is always evaluated: its logits are where the answer starts.
        await place.sequence.adaptStateToTokens(tokens.slice(0, -1), false)
        return {
          sequence: place.sequence,
          cached: place.sequence.nextTokenIndex,
          release: (spoiled) => release(place, spoiled),
        }
      } catch (error) {
        release(place, true)
        throw error
      }
    },
  }
}
