import type { Comparison } from './comparison.ts'
import { comparisonFrom, findingFrom } from './comparison.ts'
import { type DifferenceParts, differenceIn } from './difference.ts'
import type { Strata } from './strata.ts'

/** Strata of a plain small call. */
export const plainStrata: Strata = { stream: false, tools: false, json: false, size: '1k', cacheHit: false }

type Whose = Partial<Pick<Comparison, 'layer' | 'call' | 'tier' | 'strata' | 'at'>>

/** A comparison that was equal. */
export function equalOf(whose: Whose = {}): Comparison {
  return comparisonFrom({ verdict: 'equal' }, filled(whose))
}

/** A comparison that was skipped. */
export function skippedOf(
  reason: Extract<Comparison, { verdict: 'skipped' }>['reason'],
  whose: Whose = {},
): Comparison {
  return comparisonFrom({ verdict: 'skipped', reason }, filled(whose))
}

/** A comparison that differs in one hard value, unless told otherwise. */
export function differsOf(parts: Partial<DifferenceParts> = {}, whose: Whose = {}): Comparison {
  const all = filled(whose)
  const difference = differenceIn(all.layer, {
    class: 'H',
    kind: 'value',
    path: 'body.model',
    kinds: ['string', 'string'],
    ...parts,
  })
  return comparisonFrom(findingFrom([difference]), all)
}

function filled(whose: Whose) {
  return { layer: 'auth', call: 'c1', tier: 'free', strata: plainStrata, at: 1_000, ...whose }
}
