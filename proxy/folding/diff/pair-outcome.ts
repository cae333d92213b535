import { sha256 } from '../../../plugins/canonical.ts'
import { lexical, type Similar } from './similarity.ts'
import { normalisedText } from './words.ts'

/** What one triple says to the paired sign tests: the served answer, the old path once more, and the new path. */
export interface PairOutcome {
  /** 1: only the new answer differs from the served one; 0: only the old path's own repetition does; undefined: a tie, to be left out. */
  readonly differs: 0 | 1 | undefined
  /** 1: the new answer is less like the served one than the repetition is. Undefined when likeness could not be said. */
  readonly farther: 0 | 1 | undefined
  /** Both were equally alike, and the seed has decided. */
  readonly tied: boolean
  /** Likeness to the served answer of the repetition and of the new answer. */
  readonly repeated: number | undefined
  readonly renewed: number | undefined
}

/** How triples are judged. */
export interface PairingParts {
  /** Breaks ties, each with a coin of its own: equal triples must not all fall one way. The same seed gives the same coins in turn. */
  readonly seed: string
  /** Default {@link lexical}. */
  readonly similar?: Similar
}

/** Judges a triple: the served text, the old path's repetition and the new path's text. Decides nothing by itself. */
export type JudgePair = (o1: string, o2: string, n: string) => Promise<PairOutcome>

/** Makes {@link JudgePair}. */
export function createPairing({ seed, similar = lexical }: PairingParts): JudgePair {
  let turn = 0
  return async (o1, o2, n) => {
    const likeness = await similar(o1, [o2, n])
    const repeated = likeness?.[0]?.score
    const renewed = likeness?.[1]?.score
    const both = { differs: differing(o1, o2, n), repeated, renewed }
    if (repeated === undefined || renewed === undefined) return { ...both, farther: undefined, tied: false }
    if (repeated !== renewed) return { ...both, farther: renewed < repeated ? 1 : 0, tied: false }
    return { ...both, farther: coin(`${seed}\n${turn++}`), tied: true }
  }
}

function differing(o1: string, o2: string, n: string): 0 | 1 | undefined {
  const [one, two, now] = [normalisedText(o1), normalisedText(o2), normalisedText(n)]
  if ((one === two) === (one === now)) return undefined
  return one === two ? 1 : 0
}

/** Fair: one bit of a digest. */
function coin(text: string): 0 | 1 {
  return (Number.parseInt(sha256(text).slice(0, 2), 16) & 1) as 0 | 1
}
