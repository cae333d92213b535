import type { Comparison } from './comparison.ts'
import type { Difference, FieldClass } from './difference.ts'
import { type Strata, strataKey } from './strata.ts'

/** One call in which a difference was seen: what may be shown of it. */
export interface Exemplar {
  readonly call: string
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly tier: string
  readonly stratum: string
  readonly difference: Difference
}

/** How often a form of difference was seen, since when, and in which calls. */
export interface SignatureRecord {
  readonly signature: string
  readonly class: FieldClass
  readonly kind: string
  /** Undefined: only the digests differ, and where is not known. */
  readonly path: string | undefined
  readonly pathKnown: boolean
  readonly kinds: readonly [string, string]
  readonly codes: readonly [string, string]
  readonly f1?: string
  /** How often, and how often of these it was ignored. */
  readonly count: number
  readonly ignored: number
  readonly first: number
  readonly last: number
  readonly exemplars: readonly Exemplar[]
}

/** The most that is kept: exemplars of a signature and of a stage, and signatures. */
export interface ExemplarLimits {
  readonly each: number
  readonly inAll: number
  readonly signatures: number
}

/** What a book keeps unless told otherwise. */
export const defaultLimits: ExemplarLimits = { each: 5, inAll: 1_000, signatures: 500 }

/** The forms of difference of one layer in one stage. */
export interface Exemplars {
  note(comparison: Comparison & { readonly strata: Strata }, difference: Difference, ignored: boolean): void
  /** Most frequent first. */
  list(): readonly SignatureRecord[]
  /** Differences whose form was not kept any more, since there were too many forms. */
  beyond(): number
}

type Kept = Omit<SignatureRecord, 'count' | 'ignored' | 'last' | 'exemplars'> & {
  count: number
  ignored: number
  last: number
  readonly exemplars: Exemplar[]
}

/** Makes {@link Exemplars}. */
export function createExemplars(limits: ExemplarLimits = defaultLimits): Exemplars {
  const kept = new Map<string, Kept>()
  let inAll = 0
  let beyond = 0
  return {
    note({ call, at, tier, strata }, difference, ignored) {
      let form = kept.get(difference.signature)
      if (!form && kept.size >= limits.signatures) {
        beyond++
        return
      }
      if (!form) {
        form = newForm(difference, at)
        kept.set(difference.signature, form)
      }
      form.count++
      form.last = at
      if (ignored) form.ignored++
      if (form.exemplars.length >= limits.each || inAll >= limits.inAll) return
      inAll++
      form.exemplars.push({ call, at, tier, stratum: strataKey(strata), difference })
    },
    list: () =>
      [...kept.values()].sort((a, b) => b.count - a.count).map((form) => ({ ...form, exemplars: [...form.exemplars] })),
    beyond: () => beyond,
  }
}

function newForm({ signature, class: of, kind, path, kinds, codes, f1 }: Difference, at: number): Kept {
  return {
    signature,
    class: of,
    kind,
    path,
    pathKnown: path !== undefined,
    kinds,
    codes,
    ...(f1 ? { f1 } : {}),
    count: 0,
    ignored: 0,
    first: at,
    last: at,
    exemplars: [],
  }
}
