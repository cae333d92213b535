import { atLeast, atMost } from './binomial.ts'
import type { ArmCount, ArmCounts, WitnessCounts } from './question.ts'

/** What two witnesses come to. */
export interface WitnessVerdict {
  readonly verdict: 'agree' | 'disagree' | 'too-few'
  /** A sentence, with the figures. */
  readonly words: string
}

/** How sure one has to be. */
export interface CompareOptions {
  /** Fewest calls of the runner's arm in the store; default 100. */
  readonly minCalls?: number
  /** The chance of a disagreement by accident, over all comparisons together; default 0.001. */
  readonly alpha?: number
  /** Calls by which the two windows may differ at their ends; default 3. */
  readonly edge?: number
  /**
   * `head` (default): the store's traces are a random part, so proportions are compared. `tail`: failures are kept more often, so
   * only what no sampling explains counts: more bad calls in the store than there were.
   */
  readonly sampling?: 'head' | 'tail'
  /** The arm that is judged; default `native`. */
  readonly arm?: string
}

const none: ArmCount = { calls: 0, bad: 0, fallbacks: 0 }
const measures = ['bad', 'fallbacks'] as const
const said = { bad: 'bad calls', fallbacks: 'fallbacks' } as const

/**
 * Compares what was counted in process, over all calls, with what a trace store holds, which are sampled calls only: proportions,
 * never counts, but for one thing: a part cannot hold more than the whole. The question for each arm and measure is the one that
 * Clopper and Pearson's interval answers: would a random part of these calls look like that?
 */
export function compareWitness(
  inProcess: ArmCounts,
  store: WitnessCounts,
  options: CompareOptions = {},
): WitnessVerdict {
  const { minCalls = 100, arm = 'native' } = options
  const here = inProcess[arm] ?? none
  const there = store.arms[arm] ?? none
  const more = Object.keys({ ...inProcess, ...store.arms }).flatMap((name) => tooMany(name, inProcess, store, options))
  if (more[0] !== undefined) return { verdict: 'disagree', words: more[0] }
  if (there.calls < minCalls || here.calls === 0) {
    const words = `the trace store holds ${there.calls} of ${here.calls} calls of the arm ${arm}; ${minCalls} are needed`
    return { verdict: 'too-few', words }
  }
  if (options.sampling === 'tail') {
    return { verdict: 'agree', words: `nothing in the trace store speaks against ${sayArm(arm, here)}` }
  }
  const off = Object.keys(inProcess).flatMap((name) => unlikely(name, inProcess, store, options))
  if (off[0] !== undefined) return { verdict: 'disagree', words: off[0] }
  return {
    verdict: 'agree',
    words: `${there.calls} sampled calls in the trace store${store.partial ? ' (a part of what it holds)' : ''} fit ${sayArm(arm, here)}`,
  }
}

/** A part that holds more than the whole. Holds under any sampling. */
function tooMany(name: string, inProcess: ArmCounts, store: WitnessCounts, { edge = 3 }: CompareOptions): string[] {
  const here = inProcess[name] ?? none
  const there = store.arms[name] ?? none
  const all = [['calls', 'calls'] as const, ...measures.map((each) => [each, said[each]] as const)]
  return all
    .filter(([measure]) => there[measure] > here[measure] + edge)
    .map(
      ([measure, words]) =>
        `arm ${name}: the trace store holds ${there[measure]} ${words}, but only ${here[measure]} were counted here`,
    )
}

/** What a random part would hardly look like. */
function unlikely(name: string, inProcess: ArmCounts, store: WitnessCounts, options: CompareOptions): string[] {
  const { alpha = 0.001, edge = 3, minCalls = 100 } = options
  const here = inProcess[name] ?? none
  const there = store.arms[name] ?? none
  if (there.calls < minCalls || here.calls === 0) return []
  // Shared out over arms, measures and both sides (Bonferroni).
  const each = alpha / (Object.keys(inProcess).length * measures.length * 2)
  return measures.flatMap((measure) => {
    const high = Math.min(1, (here[measure] + edge) / here.calls)
    const low = Math.max(0, here[measure] - edge) / here.calls
    const hits = there[measure]
    if (atLeast(hits, there.calls, high) >= each && atMost(hits, there.calls, low) >= each) return []
    const [seen, counted] = [percent(hits, there.calls), percent(here[measure], here.calls)]
    return [
      `arm ${name}: ${seen} ${said[measure]} in the trace store (${hits} of ${there.calls} sampled calls), ` +
        `but ${counted} counted here (${here[measure]} of ${here.calls})`,
    ]
  })
}

function sayArm(name: string, { calls, bad, fallbacks }: ArmCount): string {
  return `the ${calls} calls of the arm ${name} counted here (${bad} bad, ${fallbacks} fallbacks)`
}

function percent(part: number, of: number): string {
  return `${Number(((100 * part) / of).toPrecision(3))} %`
}
