import { isSampled } from '../collect/unit-marks.ts'
import { addedUp, type Evidence, type Flush, type RolloutView, type UnitCell, type UnitCounts } from './evidence.ts'
import {
  type Arm,
  type Cell,
  noCounts,
  noSevere,
  noShadow,
  type PlaceCounts,
  type RolloutStep,
  type UnitEvent,
  type UnitMark,
  unitEvents,
} from './evidence-counts.ts'

/**
 * Evidence from what the leader knows and what every process flushed. Per (replica, boot) only the flush with the highest `seq` counts,
 * and everything is put in order, so that permuting, repeating or losing an earlier flush changes nothing, not even a rounding.
 */
export function evidenceFrom(view: RolloutView, flushes: Iterable<Flush>): Evidence {
  const latest = latestOf(flushes)
  // Who samples least says for all whose units are looked at.
  const sampled = Math.min(view.sampled, ...latest.map((flush) => flush.sampled ?? 1))
  const heard: Record<string, number> = {}
  for (const { replica, at } of latest) heard[replica] = Math.max(heard[replica] ?? 0, at)
  // What is in flight in a process that has gone was lost with it.
  const living = [...new Map(latest.toSorted((a, b) => a.at - b.at).map((each) => [each.replica, each])).values()]
  return {
    ...view,
    cells: mergedCells(latest.flatMap(({ cells }) => cells)),
    sampled,
    units: unitCells(latest.flatMap(({ units }) => units.filter(({ unit }) => isSampled(unit, sampled)))),
    places: mergedPlaces(latest, new Set(living)),
    shadow: addedUp([noShadow, ...latest.map(({ shadow }) => shadow)]),
    severe: addedUp([noSevere, ...latest.map(({ severe }) => severe)]),
    minutes: mergedBy(
      latest.flatMap(({ minutes }) => minutes),
      ({ minute }) => String(minute).padStart(16, '0'),
      (same) => ({ ...addedUp(same), minute: same[0]!.minute }),
    ),
    inFlight: living.reduce((sum, { inFlight }) => sum + inFlight, 0),
    coverage: addedUp(latest.map(({ coverage }) => coverage)),
    heard,
  }
}

function latestOf(flushes: Iterable<Flush>): Flush[] {
  const latest = new Map<string, Flush>()
  for (const flush of flushes) {
    const key = `${flush.replica}\n${flush.boot}`
    if ((latest.get(key)?.seq ?? -1) < flush.seq) latest.set(key, flush)
  }
  return [...latest].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, flush]) => flush)
}

/** Things of the same key made one, in the order of their keys. */
function mergedBy<Thing>(
  things: readonly Thing[],
  keyOf: (thing: Thing) => string,
  merge: (same: readonly Thing[]) => Thing,
): Thing[] {
  const groups = Object.groupBy(things, keyOf)
  return Object.keys(groups)
    .sort()
    .map((key) => merge(groups[key]!))
}

function mergedCells(cells: readonly Cell[]): Cell[] {
  return mergedBy(
    cells,
    ({ step, tier, window }) => `${step}\n${tier}\n${window}`,
    (same) => ({
      ...same[0]!,
      canary: addedUp([noCounts, ...same.map(({ canary }) => canary)]),
      control: addedUp([noCounts, ...same.map(({ control }) => control)]),
    }),
  )
}

const mostWaiting = 8

function mergedPlaces(latest: readonly Flush[], living: ReadonlySet<Flush>): PlaceCounts[] {
  const places = latest.flatMap((flush) =>
    living.has(flush) ? flush.places : flush.places.map((place) => ({ ...place, waitingMs: [] })),
  )
  return mergedBy(
    places,
    ({ kind, id }) => `${kind}\n${id}`,
    (same) => ({
      ...same[0]!,
      ended: same.reduce((sum, { ended }) => sum + ended, 0),
      blown: [...new Set(same.flatMap(({ blown }) => blown))].sort(),
      waitingMs: same
        .flatMap(({ waitingMs }) => waitingMs)
        .toSorted((a, b) => b - a)
        .slice(0, mostWaiting),
    }),
  )
}

const stepOrder: readonly RolloutStep[] = ['shadow', 'S1', 'S2', 'S3', 'S4']

/** Distinct units and tenants, and for each event the units to which it happened first in this step. */
function unitCells(marks: readonly UnitMark[]): UnitCell[] {
  const happened = new Map<UnitEvent, Set<string>>(unitEvents.map((event) => [event, new Set()]))
  return stepOrder.flatMap((step) => {
    const here = marks.filter((mark) => mark.step === step)
    const byTier = Object.groupBy(here, ({ tier }) => tier)
    const cells = Object.keys(byTier)
      .sort()
      .map((tier): UnitCell => {
        const of = (arm: Arm): UnitCounts =>
          unitCounts(
            byTier[tier]!.filter((mark) => mark.arm === arm),
            happened,
          )
        return { step, tier, canary: of('canary'), control: of('control') }
      })
    for (const { unit, events } of here) for (const event of events) happened.get(event)?.add(unit)
    return cells
  })
}

function unitCounts(marks: readonly UnitMark[], happened: ReadonlyMap<UnitEvent, ReadonlySet<string>>): UnitCounts {
  const units = new Set(marks.map(({ unit }) => unit))
  const to = new Map<UnitEvent, Set<string>>()
  for (const { unit, events } of marks)
    for (const event of events) to.set(event, (to.get(event) ?? new Set<string>()).add(unit))
  const firsts = unitEvents.map((event) => {
    const before = happened.get(event)!
    return [
      event,
      { atRisk: countOutside(units, before), first: countOutside(to.get(event) ?? nobody, before) },
    ] as const
  })
  return {
    units: units.size,
    tenants: new Set(marks.map(({ tenant }) => tenant)).size,
    firsts: Object.fromEntries(firsts) as UnitCounts['firsts'],
  }
}

const nobody: ReadonlySet<string> = new Set()

/** How many of these are not among those. */
function countOutside(these: ReadonlySet<string>, those: ReadonlySet<string>): number {
  if (these.size === 0 || those.size === 0) return these.size
  let count = 0
  for (const each of these) if (!those.has(each)) count++
  return count
}
