import { negationsIn } from './negations.ts'
import { takeDates } from './spoken-dates.ts'
import { numbersIn } from './spoken-numbers.ts'

/** What keeps two texts from being alike however alike they read. */
export type Guard = 'date' | 'number' | 'negation'

/** Longer texts are looked at up to here, in UTF-16 code units. */
const longest = 65_536

/**
 * A date, a number or a negation that one text has and the other has not; undefined when they agree in all. Numbers and dates count in
 * their order, negations clause by clause where the texts have as many clauses, else in all. Errs towards finding one.
 */
export function guardAgainst(old: string, now: string): Guard | undefined {
  if (old === now) return undefined
  const [one, two] = [factsOf(old), factsOf(now)]
  if (one.dates !== two.dates) return 'date'
  if (one.numbers !== two.numbers) return 'number'
  return sameNegations(one.negations, two.negations) ? undefined : 'negation'
}

interface Facts {
  readonly dates: string
  readonly numbers: string
  readonly negations: readonly number[]
}

function factsOf(text: string): Facts {
  const cut = text.slice(0, longest)
  const { dates, rest } = takeDates(cut)
  return { dates: dates.join(), numbers: numbersIn(rest).join(), negations: negationsIn(cut) }
}

function sameNegations(old: readonly number[], now: readonly number[]): boolean {
  if (old.length === now.length) return old.every((count, index) => count === now[index])
  return sum(old) === sum(now)
}

function sum(counts: readonly number[]): number {
  return counts.reduce((all, count) => all + count, 0)
}
