import { hash } from 'node:crypto'
import { canonicalJson } from '../../../plugins/canonical.ts'
import type { Capabilities } from '../../../plugins/capabilities.ts'

/** Something that changed at a runner while a layer moved: the ground that the rollout is judged on is another one (R47). */
export interface Drift {
  /** The same at every replica that sees it. */
  readonly id: string
  readonly runner: string
  readonly what: 'boot' | 'capabilities' | 'fingerprint'
  /** From what to what. */
  readonly words: string
}

/** Watches for {@link Drift}. */
export interface DriftWatch {
  /** A handshake told what the process at this place of a runner is. */
  met(runner: string, place: string, capabilities: Capabilities): void
  /** An answer named what its model runs on (`system_fingerprint`). */
  named(of: { readonly runner: string; readonly model: string }, fingerprint: string): void
  /** What changed while a rollout was under way, oldest first. */
  of(rollout: string): readonly Drift[]
}

/** What a {@link DriftWatch} is made with. */
export interface DriftParts {
  /** The rollout that is under way; undefined: none is. */
  rollout(): string | undefined
  /** Hears of each change, once. */
  found(drift: Drift, rollout: string): void
}

const mostRollouts = 4
const mostDrifts = 32
const mostPlaces = 256
const mostNames = 64

/**
 * Makes a {@link DriftWatch}. Another boot at the same place is another process. A new place of a runner is no change by itself, as runners
 * grow; it is one when what it can do is nothing that the runner was known to do. A fingerprint that was named before, in the same
 * rollout, is none either: hosted models answer from several back ends at a time.
 */
export function createDriftWatch({ rollout, found }: DriftParts): DriftWatch {
  const places = new Map<string, Capabilities>()
  const drifts = new Map<string, Drift[]>()
  let names: { readonly rollout: string; readonly of: Map<string, Set<string>> } | undefined
  const note = (drift: Omit<Drift, 'id'>, mark: string): void => {
    const under = rollout()
    if (under === undefined) return
    const known = drifts.get(under) ?? []
    const id = hash('sha256', `${drift.runner}|${drift.what}|${mark}`).slice(0, 12)
    if (known.length >= mostDrifts || known.some((each) => each.id === id)) return
    drifts.set(under, [...known, { id, ...drift }])
    const [oldest] = drifts.keys()
    if (drifts.size > mostRollouts && oldest !== undefined) drifts.delete(oldest)
    found({ id, ...drift }, under)
  }
  return {
    met(runner, place, capabilities) {
      const key = `${runner} ${place}`
      const before = places.get(key)
      const { boot, caps } = capabilities
      const alike = [...places].filter(([each]) => each.startsWith(`${runner} `)).map(([, process]) => process)
      places.delete(key)
      places.set(key, capabilities)
      const [oldest] = places.keys()
      if (places.size > mostPlaces && oldest !== undefined) places.delete(oldest)
      if (before && before.boot !== boot)
        note({ runner, what: 'boot', words: `another process: boot ${before.boot} → ${boot}` }, boot)
      const other = before ?? alike.at(-1)
      if (other && other.caps !== caps && !alike.some((process) => process !== before && process.caps === caps))
        note({ runner, what: 'capabilities', words: differences(other, capabilities) }, caps)
    },
    named({ runner, model }, fingerprint) {
      const under = rollout()
      if (under === undefined) return
      if (names?.rollout !== under) names = { rollout: under, of: new Map() }
      const key = `${runner} ${model}`
      const known = names.of.get(key) ?? new Set()
      if (known.has(fingerprint) || known.size >= mostNames) return
      const last = [...known].at(-1)
      known.add(fingerprint)
      names.of.set(key, known)
      if (last === undefined) return
      const words = `system_fingerprint of ${model || 'its model'} ${shown(last)} → ${shown(fingerprint)}`
      note({ runner, what: 'fingerprint', words }, `${model}|${fingerprint}`)
    },
    of: (under) => drifts.get(under) ?? [],
  }
}

const apart: ReadonlySet<string> = new Set(['boot', 'caps', 'load'])

/** In what two documents differ, member by member. */
function differences(before: Capabilities, after: Capabilities): string {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter((name) => !apart.has(name))
  const of = (document: Capabilities, name: string): string =>
    canonicalJson(document[name as keyof Capabilities] ?? null)
  const changed = names.filter((name) => of(before, name) !== of(after, name))
  const told = changed.map((name) => `${name} ${shown(of(before, name))} → ${shown(of(after, name))}`)
  return `capabilities ${before.caps.slice(0, 8)} → ${after.caps.slice(0, 8)}: ${told.join(', ')}`
}

/** What a runner says of itself, short enough for a line. */
function shown(text: string): string {
  const plain = text.replaceAll(/[^\x20-\x7e]/g, '?')
  return plain.length > 60 ? `${plain.slice(0, 57)}…` : plain
}

/** Why a rollout is held for what changed, in words. */
export function sayDrifts(drifts: readonly Drift[]): string {
  const runners = Object.groupBy(drifts, ({ runner }) => runner)
  const told = Object.entries(runners).map(
    ([runner, some = []]) => `runner ${runner}: ${some.map(({ words }) => words).join('; ')}`,
  )
  return `upstream drift: ${told.join('; ')}`.slice(0, 900)
}
