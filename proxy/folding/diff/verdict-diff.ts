import { essenceDigest, type LayerMember, maxTextUnits } from '../../../plugins/acknowledgement.ts'
import type { Call, Principal } from '../../../plugins/call.ts'
import { type Layer, wholeVerdict } from '../../../plugins/layer.ts'
import type { Verdict } from '../../../plugins/verdict.ts'
import { type Finding, findingFrom } from './comparison.ts'
import { type Difference, type DifferenceParts, differenceIn, kindOf } from './difference.ts'
import { jsonDifferences } from './json-difference.ts'
import { shown } from './shown-value.ts'

/** What the gateway half of a layer said of a call, as far as the other half must agree. */
export interface GatewayVerdict {
  readonly outcome: Verdict['kind']
  /** Why it refused. */
  readonly code?: string
  readonly essence: unknown
  /** Its {@link essenceDigest}. */
  readonly digest: string
  /** Whom it has recognised. */
  readonly caller?: Pick<Principal, 'id' | 'tenant' | 'tier'>
  /** What it made of the answer, once that is over; absent: not known. */
  readonly ended?: { readonly o: 'ok' | 'failed'; readonly code?: string }
}

/** What the other half said of the same call. */
export interface RunnerVerdict {
  /** Its member of the acknowledgement; undefined: there is none. */
  readonly said: LayerMember | undefined
  /** The essence itself, where more than its digest is known. */
  readonly essence?: unknown
  /** Its cache key is one that another tenant's call has. */
  readonly foreignKey?: boolean
  /** The gateway half has judged by its own counters, not by what the runner read. */
  readonly slack?: LimitSlack
}

/** By how much the counters of two sides that count for themselves may be apart. */
export interface LimitSlack {
  /** What remained by the gateway's; undefined: not known. */
  readonly remaining: number | undefined
  /** What calls of the same key that were under way may still take, in the same unit. */
  readonly within: number
}

/** A verdict of the gateway half as what is compared; undefined when it has no essence. */
export function gatewayVerdict(layer: Layer, verdict: Verdict, call: Call): GatewayVerdict | undefined {
  try {
    const essence = layer.native?.essence ? layer.native.essence(verdict, call) : wholeVerdict(verdict)
    const caller = verdict.kind === 'pass' ? verdict.facts.principal : undefined
    return {
      outcome: verdict.kind,
      ...(verdict.kind === 'refuse' ? { code: verdict.error.code } : {}),
      essence,
      digest: essenceDigest(essence),
      ...(caller ? { caller: { id: caller.id, tenant: caller.tenant, tier: caller.tier } } : {}),
    }
  } catch {
    return undefined
  }
}

/** Layers whose outcome hangs on what a side has stored: only the key is compared, not whether something lies under it. */
const judgedByKey: ReadonlySet<string> = new Set(['cache'])

/**
 * The two halves' verdicts on one call, held against each other exactly: the outcome, the code of a refusal, the caller, the digest of the
 * essence, and what became of the answer where both know. All of it is hard. What a runner's acknowledgement says of counters is not
 * compared: each side counts for itself, and in `observe` judges over what the enforcing side read.
 */
export function diffVerdict(layer: string, here: GatewayVerdict | undefined, there: RunnerVerdict): Finding {
  const { said } = there
  if (!said?.o) return { verdict: 'skipped', reason: 'not-acknowledged' }
  if (!here) return { verdict: 'skipped', reason: 'no-essence' }
  if (said.o === 'refuse' && said.code === 'runner_timeout') return { verdict: 'skipped', reason: 'timeout' }
  if (layer === 'rate-limit' && isAtLimit(here, there)) return { verdict: 'skipped', reason: 'at-limit' }
  const known = [
    ...(judgedByKey.has(layer) ? [] : decisionDifferences(layer, here, said)),
    ...callerDifferences(layer, here, said),
    ...endingDifferences(layer, here, said),
  ]
  if (said.e === undefined) return known.length > 0 ? findingFrom(known) : { verdict: 'skipped', reason: 'no-essence' }
  if (said.e === here.digest) return findingFrom(known)
  const decided = known.some(({ kind }) => kind !== 'ending')
  return findingFrom(decided ? known : [...known, ...essenceDifferences(layer, here, there)])
}

/** One side refuses and the other does not, so near to the limit that calls under way explain it. */
function isAtLimit(here: GatewayVerdict, { said, slack }: RunnerVerdict): boolean {
  if (!slack || here.outcome === decisionOf(said?.o)) return false
  return Math.min(slack.remaining ?? Number.POSITIVE_INFINITY, said?.rem ?? Number.POSITIVE_INFINITY) <= slack.within
}

function hard(layer: string, parts: Omit<DifferenceParts, 'class'>): Difference {
  return differenceIn(layer, { ...parts, class: 'H' })
}

function decisionOf(o: LayerMember['o']): Verdict['kind'] {
  return o === 'answer' || o === 'refuse' ? o : 'pass'
}

function decisionDifferences(layer: string, here: GatewayVerdict, said: LayerMember): Difference[] {
  const kinds = [here.outcome, decisionOf(said.o)] as const
  const refusing = kinds[1] === 'refuse' ? (said.code ?? '') : ''
  const codes = [here.code ?? '', refusing] as const
  if (kinds[0] !== kinds[1]) {
    const f1 = layer === 'auth' && kinds[0] === 'refuse' ? ({ f1: 'auth-false-allow' } as const) : {}
    return [hard(layer, { kind: 'verdict', path: 'kind', kinds, codes, ...f1 })]
  }
  return codes[0] === codes[1] ? [] : [hard(layer, { kind: 'code', path: 'code', kinds, codes })]
}

/** A caller taken for somebody of another tenant has been let in where he does not belong. */
function callerDifferences(layer: string, { caller }: GatewayVerdict, said: LayerMember): Difference[] {
  if (!caller || decisionOf(said.o) !== 'pass' || said.ten === undefined) return []
  const pairs = [
    ['principal.id', caller.id, said.sub ?? ''],
    ['principal.tenant', caller.tenant, said.ten],
    ['principal.tier', caller.tier, said.tier ?? ''],
  ] as const
  return pairs
    .filter(([, old, now]) => old !== now && old.length <= maxTextUnits)
    .map(([path, old, now]) => {
      const f1 = path === 'principal.tenant' ? ({ f1: 'auth-false-allow' } as const) : {}
      return hard(layer, { kind: 'value', path, kinds: ['string', 'string'], shown: [shown(old), shown(now)], ...f1 })
    })
}

function endingDifferences(layer: string, { ended }: GatewayVerdict, said: LayerMember): Difference[] {
  if (!ended || (said.o !== 'ok' && said.o !== 'failed')) return []
  const codes = [ended.code ?? '', said.code ?? ''] as const
  if (ended.o === said.o && codes[0] === codes[1]) return []
  return [hard(layer, { kind: 'ending', path: 'ending', kinds: [ended.o, said.o], codes })]
}

function essenceDifferences(layer: string, here: GatewayVerdict, there: RunnerVerdict): Difference[] {
  const f1 = there.foreignKey && judgedByKey.has(layer) ? ({ f1: 'cross-tenant-key' } as const) : {}
  const { essence } = here
  const found = 'essence' in there ? jsonDifferences(essence, there.essence) : []
  if (found.length === 0) {
    return [hard(layer, { kind: 'digest', path: undefined, kinds: [here.outcome, decisionOf(there.said?.o)], ...f1 })]
  }
  return found.map(({ path, kind, old, now }) =>
    hard(layer, { kind, path, kinds: [kindOf(old), kindOf(now)], shown: [shown(old), shown(now)], ...f1 }),
  )
}
