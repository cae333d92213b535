import { expect } from 'vitest'
import { shareOf } from '../../plugins/stage.ts'
import { type DecisionRecord, isFaithful } from '../../proxy/folding/rollout/decision-record.ts'
import type { Arm } from '../../proxy/folding/rollout/evidence-counts.ts'
import { isOut, type LayerState } from '../../proxy/folding/state/document.ts'
import type { StageChangeRecord } from '../../proxy/folding/state/state.ts'
import { movingLayer, type WorldReplica } from './world-replica.ts'
import type { WorldStore } from './world-store.ts'

/** Holds a world to the invariants while it runs. */
export interface Watch {
  /** Time has passed: looks at every replica. Throws where an invariant does not hold. */
  look(ms: number): void
  played(arm: Arm | undefined): void
  /** The store has lost something: what is written next may have the number of something that is gone. */
  lost(): void
  /** Calls by arm. */
  readonly calls: { canary: number; control: number }
  /** Where the moving layer has been, as it was written, in order; of rollouts that were tripped too. */
  readonly path: readonly string[]
  /** Promotions that were written by the controller, and held against their evidence. */
  readonly replayed: number
}

/** So long may a replica that reaches the store give weight to what others have taken back, in milliseconds of the product's own pace. */
const latchedWithinMs = 2_000

/** Makes a {@link Watch}. */
export function createWatch(store: WorldStore, living: () => readonly WorldReplica[]): Watch {
  const connected = new Map<string, number>()
  const written = new Map<number, string>()
  const weights = new Map<string, number>()
  const path: string[] = []
  const calls = { canary: 0, control: 0 }
  let replayed = 0
  /** The revision that was read last: the log is long. */
  let seen = 0
  const tripped = (): Set<string> => new Set(living().flatMap(({ stages }) => Object.keys(stages.state.known.tripped)))

  /** I1: what was tripped has no weight: at once where that is known, and elsewhere as soon as it can be known. */
  const latch = (ms: number): void => {
    for (const replica of living().filter(({ runs }) => runs)) {
      const { known, condition } = replica.stages.state
      const own = replica.stages.of(movingLayer)
      for (const id of tripped()) {
        const key = `${replica.id} ${id}`
        connected.set(key, condition === 'up' ? (connected.get(key) ?? 0) + ms : 0)
        const isKnown = Object.hasOwn(known.tripped, id)
        if (!isKnown && (connected.get(key) ?? 0) <= Math.max(latchedWithinMs, 2 * ms)) continue
        const serves = own.rollout === id && isOut({ stage: own.stage })
        expect(serves, `${replica.id} serves ${id}, which was tripped`).toBe(false)
      }
    }
  }
  /** I2: within a rollout the share of a tier never falls, but to nothing. */
  const ramp = (layer: LayerState | undefined): void => {
    if (!layer || !isOut(layer)) return
    const now = layer.stage === 'native' ? 10_000 : layer.stage === 'canary' ? shareOf({ ...layer, weight: 0 }, '') : 0
    expect(now, 'a share has fallen within a rollout').toBeGreaterThanOrEqual(weights.get(layer.rolloutId) ?? 0)
    weights.set(layer.rolloutId, now)
  }
  /** I5: what the controller promoted, its evidence promotes again. What it only held has gone nowhere. */
  const replay = ({ by, kind, evidence, layers }: StageChangeRecord): void => {
    const to = layers[movingLayer]?.to
    if (kind !== 'transition' || by.actor !== 'foldgate' || !to || !isOut(to) || to.held) return
    const record = JSON.parse(JSON.stringify(evidence)) as DecisionRecord
    expect(record.decision.kind).toBe('promote')
    expect(record.decision.gates.filter(({ met }) => !met)).toEqual([])
    expect(isFaithful(record)).toBe(true)
    replayed++
  }
  const read = (): void => {
    const rev = store.stored?.rev ?? 0
    if (rev === seen) return
    seen = rev
    for (const entry of store.history()) {
      const text = JSON.stringify(entry)
      const before = written.get(entry.rev)
      // I6: a revision is written once.
      if (before !== undefined) expect(before).toBe(text)
      if (before !== undefined) continue
      written.set(entry.rev, text)
      const to = entry.layers[movingLayer]?.to
      if (to && entry.kind !== 'restore')
        path.push(to.stage === 'canary' ? `canary ${shareOf({ ...to, weight: 0 }, '') / 100} %` : to.stage)
      replay(entry)
    }
  }
  return {
    calls,
    path,
    get replayed() {
      return replayed
    },
    played(arm) {
      if (arm) calls[arm]++
    },
    lost() {
      written.clear()
      // What nobody alive knows of never was.
      weights.clear()
    },
    look(ms) {
      latch(ms)
      ramp(store.stored?.layers[movingLayer])
      read()
    },
  }
}
