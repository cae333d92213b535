import { eventThreshold } from '../statistics/relative.ts'
import { type RateTest, sprtVerdict } from '../statistics/sprt.ts'
import type { Trials } from '../statistics/trials.ts'
import type { Evidence } from './evidence.ts'
import type { Figures } from './figures.ts'
import type { Blown } from './fuse.ts'
import { hasBlown, isStuck, type PlacesFound, placesFound } from './places.ts'
import type { StageConstants } from './stage-constants.ts'

/** Every fuse that has blown, gravest first, and places to be taken out at once whatever becomes of the layer. */
export interface FusesFound {
  readonly blown: readonly Blown[]
  readonly eject: readonly string[]
}

/** What the fuses look at. */
export interface FuseInput {
  readonly evidence: Evidence
  readonly constants: StageConstants
  readonly figures: Figures
  /** Milliseconds since the epoch. */
  readonly now: number
  /** The constants are those that were frozen: without them only what needs none is looked at. */
  readonly frozen: boolean
}

/** All of `canary.md` §3.7. What both arms do at the same time (F10) takes the blame off F3, F4 and F6, and holds instead. */
export function fusesFound(input: FuseInput): FusesFound {
  const certain = [...byOrder(input), ...severe(input)]
  const places = placeFuses(input)
  if (!input.frozen) return { ...places, blown: [...certain, ...places.blown.filter(({ fuse }) => fuse !== 'F6')] }
  const blameless = bothArms(input)
  const shared = [...places.blown.filter(({ fuse }) => fuse !== 'F5'), ...errorRate(input)]
  const own = [...places.blown.filter(({ fuse }) => fuse === 'F5'), ...fallbackRate(input), ...versions(input)]
  const compared = comparisons(input)
  // Whoever is far worse than the control at the same time is to blame, incident or not.
  const excused = blameless && !compared.some(({ fuse }) => fuse === 'F11') && shared.length > 0
  return {
    blown: [
      ...certain,
      ...own,
      ...(excused ? [] : shared),
      ...compared,
      ...missing(input),
      ...(blameless ? [blameless] : []),
    ],
    eject: places.eject,
  }
}

function byOrder({ evidence: { operator } }: FuseInput): Blown[] {
  if (operator?.verb !== 'rollback') return []
  return [rollback('F12', `${operator.actor}: ${operator.reason}`)]
}

function severe({ evidence: { severe: found, cells } }: FuseInput): Blown[] {
  const first = [
    [found.falseAllow, 'calls let through that the gateway refuses'],
    [found.crossTenant, 'cache keys of another tenant'],
    [found.leakedEffects, 'effects of a shadow outside'],
  ] as const
  const unknown = cells.reduce((sum, { canary, control }) => sum + canary.unknownVersions + control.unknownVersions, 0)
  return [
    ...first.flatMap(([count, what]): Blown[] =>
      count > 0 ? [{ ...rollback('F1', `${count} ${what}`), permanent: true }] : [],
    ),
    ...(found.billing >= 2 ? [rollback('F2', `${found.billing} calls billed wrongly`)] : []),
    ...(unknown > 0 ? [rollback('F9', `${unknown} acknowledgements of an unknown version`)] : []),
  ]
}

function placeFuses({ evidence: { places }, constants }: FuseInput): FusesFound {
  const looks: readonly (readonly [Blown['fuse'], string, PlacesFound])[] = [
    ['F3', 'bad calls in a row at', placesFound(places, hasBlown('bad'))],
    ['F4', 'CUSUM at', placesFound(places, hasBlown('cusum'))],
    ['F5', 'fallbacks in a row at', placesFound(places, hasBlown('fallback'))],
    ['F6', 'calls stuck at', placesFound(places, isStuck(constants.stuckMs))],
  ]
  return {
    blown: looks.flatMap(([fuse, what, { layer }]) => (layer ? [rollback(fuse, `${what} ${layer}`)] : [])),
    eject: [...new Set(looks.flatMap(([, , { eject }]) => eject))].sort(),
  }
}

function errorRate({ evidence, constants, figures }: FuseInput): Blown[] {
  const { errors, cusum, far, vip, step } = constants
  if (evidence.cusumPeak >= cusum) return [rollback('F4', `CUSUM reached ${evidence.cusumPeak.toFixed(1)}`)]
  if (step === 'shadow') return []
  const ofVip = vip ? tripped('F4', 'bad calls of VIP', { trials: figures.vipErrors, test: vip.errors }) : []
  if (far) return [...ofVip, ...tenantsRate(figures, { errors, far, step })]
  return step === 'S4' ? ofVip : tripped('F4', 'bad calls', { trials: figures.errors, test: errors })
}

/**
 * Tenants have rates of their own, and those of a few large ones in a small share are not the layer's. What is bad for many of them, or
 * far worse than tenants are apart, takes the layer back; what may be theirs alone holds it, for a person to look.
 */
function tenantsRate(
  figures: FuseInput['figures'],
  { errors, far, step }: Required<Pick<StageConstants, 'errors' | 'far' | 'step'>>,
): Blown[] {
  const farWorse = tripped('F4', 'bad calls', { trials: figures.errors, test: far })
  if (step === 'S4') return farWorse
  const ofMany = tripped('F4', 'bad calls, a few of each tenant,', { trials: figures.errorsOfMany, test: errors })
  const ofFew = tripped('F4', 'bad calls, most of them of few tenants,', { trials: figures.errors, test: errors })
  return [...farWorse, ...ofMany, ...ofFew.map((each): Blown => ({ ...each, asks: 'hold' }))]
}

function fallbackRate({ constants, figures }: FuseInput): Blown[] {
  return tripped('F5', 'fallbacks', { trials: figures.fallbacks, test: constants.fallbacks })
}

function versions({ constants, figures }: FuseInput): Blown[] {
  return tripped('F9', 'layer-status mismatches', { trials: figures.mismatches, test: constants.mismatches })
}

/** F11, and F8, which makes every other comparison worthless. */
function comparisons({ constants: { alpha, counting, step }, figures: { logs } }: FuseInput): Blown[] {
  // In shadow nobody is served by the runner: what differs stands in the way of promotion, and that is all.
  const told = [
    ['M1, bad calls', logs.bad, alpha.bad],
    ['M4, slow calls', counting === 'tenant' ? 0 : logs.slow, alpha.slow],
    ['M5, answers that differ', step === 'shadow' ? 0 : logs.different, alpha.different],
    ['M6, refusals', logs.refused, alpha.refused],
    ['M7, callers that went away', logs.aborted, alpha.aborted],
  ] as const
  const worse = told.filter(([, log, chance]) => log >= eventThreshold(chance))
  const mismatch: Blown = {
    fuse: 'F8',
    asks: 'hold',
    reason: 'units do not fall to the arms as they should; no other figure can be trusted',
  }
  return [
    ...worse.map(([what, log]) => rollback('F11', `${what}, against the control: ln E = ${log.toFixed(1)}`)),
    ...(logs.shares >= eventThreshold(alpha.shares) ? [mismatch] : []),
  ]
}

/** F7: calls that were drawn and neither ended nor are in flight; a hold after one minute of it, a rollback after two. */
function missing({ evidence: { minutes }, now }: FuseInput): Blown[] {
  const whole = minutes.filter(({ minute }) => minute + 60_000 <= now).toSorted((a, b) => b.minute - a.minute)
  const [last, before] = whole
  const low = (each: typeof last): boolean => each !== undefined && each.accounted < 0.95 * each.assigned
  if (!last || !low(last)) return []
  const twice = before !== undefined && before.minute === last.minute - 60_000 && low(before)
  const reason = `${last.assigned - last.accounted} of ${last.assigned} calls are unaccounted for`
  return [{ fuse: 'F7', asks: twice ? 'rollback' : 'hold', reason: twice ? `${reason}, for two minutes` : reason }]
}

/** F10: the control is as bad, in the very windows in which the canary was. */
function bothArms({ constants: { errors }, figures: { beside } }: FuseInput): Blown | undefined {
  if (sprtVerdict(beside, errors) !== 'trip') return undefined
  return { fuse: 'F10', asks: 'hold', reason: `the control is bad as well: ${beside.x} of ${beside.n} calls` }
}

function tripped(fuse: Blown['fuse'], what: string, { trials, test }: { trials: Trials; test: RateTest }): Blown[] {
  if (sprtVerdict(trials, test) !== 'trip') return []
  return [rollback(fuse, `${trials.x} ${what} of ${trials.n}`)]
}

function rollback(fuse: Blown['fuse'], reason: string): Blown {
  return { fuse, asks: 'rollback', reason }
}
