import type { Layer } from '../../../plugins/layer.ts'
import { isMoving, type LayerStage, sayStage } from '../../../plugins/stage.ts'
import { type Boundary, createBoundary } from '../diff/boundary.ts'
import { answerLayer, type Comparison, type SkipReason } from '../diff/comparison.ts'
import { type BookSnapshot, type ComparisonBook, createComparisonBook } from '../diff/comparison-book.ts'
import { createIgnores, type Ignores } from '../diff/ignore-rules.ts'
import { strataFromCall } from '../diff/strata.ts'
import type { StratifiedSample } from '../diff/stratified-sample.ts'
import type { Counted } from '../diff/tally.ts'
import { type AboutCall, type BothSaid, compareHalf } from './both-said.ts'
import type { Half } from './half.ts'
import { createSlices } from './slices.ts'

/** A comparison, with what it was counted as and the rollout that it belongs to. */
export interface Compared {
  readonly comparison: Comparison
  readonly as: Counted
  readonly rollout: string | undefined
}

/** What one configuration says of comparing. */
export interface CompareSettings {
  readonly layers: ReadonlyMap<string, Layer>
  stageOf(layer: string): LayerStage
  readonly ignores: Ignores
  /** Undefined: every call is compared. */
  readonly sample: StratifiedSample | undefined
}

/** Compares the two halves of layers, after the calls and never in their way. One a process: it outlives configurations. */
export interface Comparing {
  /** Both halves have spoken. Compared later, or dropped when too many wait. */
  said(both: BothSaid, settings: CompareSettings): void
  /** They could have been compared and are not. */
  skipped(halves: readonly Half[], reason: SkipReason, about: AboutCall, settings: CompareSettings): void
  /** A comparison that was made elsewhere. */
  note(compared: Omit<Compared, 'as'>, settings: CompareSettings): void
  /** Hears every comparison, right after it is in the book. */
  listen(listener: (compared: Compared) => void): void
  snapshot(at: number): BookSnapshot
  /** The rules of the configuration that was last heard of. */
  readonly ignores: Ignores
  heed(ignores: Ignores): void
  /** Nothing waits any more; for tests. */
  idle(): Promise<void>
}

/** What {@link Comparing} is made with. */
export interface ComparingParts {
  counted(layer: string, as: Counted): void
  dropped(): void
}

interface Desk {
  readonly book: ComparisonBook
  readonly boundary: Boundary
  /** The stage that the book's page of a layer is about. */
  readonly stages: Map<string, string>
  readonly listeners: ((compared: Compared) => void)[]
  readonly parts: ComparingParts
  /** Those of the configuration that was last heard of. */
  ignores: Ignores
}

/** Makes {@link Comparing}. */
export function createComparing(parts: ComparingParts): Comparing {
  const ignores = lastIgnores(() => desk.ignores)
  const desk: Desk = {
    book: createComparisonBook({ ignores }),
    boundary: createBoundary(),
    stages: new Map(),
    listeners: [],
    parts,
    ignores: createIgnores([]),
  }
  const slices = createSlices()
  const comparing: Comparing = {
    said(both, settings) {
      if (both.halves.length === 0 || slices.push(() => compareCall(desk, both, settings))) return
      parts.dropped()
      comparing.skipped(both.halves, 'budget', both, settings)
    },
    skipped(halves, reason, { cacheHit, at, rollout }, settings) {
      for (const { name, call } of halves) {
        const layer = settings.layers.get(name)
        if (layer)
          note(desk, { comparison: desk.boundary.skip({ layer, call, cacheHit, at }, reason), rollout }, settings)
      }
    },
    note: (compared, settings) => note(desk, compared, settings),
    listen: (listener) => void desk.listeners.push(listener),
    snapshot: desk.book.snapshot,
    ignores,
    heed(rules) {
      desk.ignores = rules
    },
    idle: slices.idle,
  }
  return comparing
}

function compareCall(desk: Desk, both: BothSaid, settings: CompareSettings): void {
  const { boundary } = desk
  const drawn = isDrawn(both, settings)
  for (const half of both.halves) {
    const layer = settings.layers.get(half.name)
    if (!layer) continue
    const { call } = half
    const comparison = drawn
      ? compareHalf(half, layer, both, boundary)
      : boundary.skip({ layer, call, cacheHit: both.cacheHit, at: both.at }, 'not-drawn')
    if (comparison) note(desk, { comparison, rollout: both.rollout }, settings)
  }
}

function isDrawn({ halves, cacheHit, at }: BothSaid, { sample }: CompareSettings): boolean {
  const call = halves.at(-1)?.call
  if (!sample || !call) return true
  const tier = call.facts.principal?.tier ?? ''
  return sample.takes({ id: call.id, tier, strata: strataFromCall(call, { cacheHit }) }, at)
}

/** Into the book, on a new page where the layer has moved since. */
function note(desk: Desk, { comparison, rollout }: Omit<Compared, 'as'>, settings: CompareSettings): void {
  const { layer, at } = comparison
  const standing = settings.stageOf(layer)
  const stage = `${sayStage(standing)} ${standing.rollout ?? ''}`
  if (desk.stages.get(layer) !== stage) {
    desk.stages.set(layer, stage)
    desk.book.begin(layer, sayStage(standing), at)
  }
  desk.ignores = settings.ignores
  const as = desk.book.add(comparison)
  if (comparison.verdict !== 'skipped' || comparison.reason !== 'not-drawn') desk.parts.counted(layer, as)
  // The rollout of a call is about the layer that moves; what the others say of themselves is no evidence for it.
  const about = layer === answerLayer || isMoving(standing) ? rollout : undefined
  for (const hears of desk.listeners) hears({ comparison, as, rollout: about })
}

/** The book outlives configurations, and each brings rules of its own. */
function lastIgnores(last: () => Ignores): Ignores {
  return {
    get rules() {
      return last().rules
    },
    match: (layer, difference, at) => last().match(layer, difference, at),
    isActive: (rule, at) => last().isActive(rule, at),
    blocking: (layer, at) => last().blocking(layer, at),
  }
}
