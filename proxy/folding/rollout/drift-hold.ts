import type { Log } from '../../../plugins/host.ts'
import type { Stages } from '../stages.ts'
import type { Notes, StageDocument } from '../state/document.ts'
import { type Drift, sayDrifts } from './drift.ts'
import type { Report } from './reports.ts'

const name = 'drift '
/** So many are remembered as acknowledged; a runner that starts anew all the time is held for again beyond that. */
const mostKnown = 64

/** The ids of what a rollout was held for before. */
export function acknowledgedDrifts({ notes }: Pick<StageDocument, 'notes'>, rollout: string): readonly string[] {
  return notes?.[name + rollout]?.split(' ') ?? []
}

/** What has changed, as all replicas tell it, and was not held for yet. */
export function freshDrifts(reports: readonly Pick<Report, 'drifts'>[], known: readonly string[]): readonly Drift[] {
  const all = new Map(reports.flatMap(({ drifts = [] }) => drifts.map((drift) => [drift.id, drift] as const)))
  return [...all.values()].filter(({ id }) => !known.includes(id))
}

/** The notes that remember what a rollout was held for; those of other rollouts go. */
export function driftNotes(
  { notes = {} }: Pick<StageDocument, 'notes'>,
  rollout: string,
  ids: readonly string[],
): Notes {
  const others = Object.keys(notes).filter((each) => each.startsWith(name) && each !== name + rollout)
  return { ...Object.fromEntries(others.map((each) => [each, ''])), [name + rollout]: ids.slice(-mostKnown).join(' ') }
}

/** What is held, and with what. */
export interface HoldParts {
  readonly stages: Pick<Stages, 'ask' | 'state'>
  readonly log: Log
}

/**
 * Holds a layer under which a runner has changed, once for each change: who resumes it has seen it. What was held for is noted with the
 * rollout, so that whoever leads next does not hold for it again. Never throws.
 */
export async function holdForDrifts(
  { stages, log }: HoldParts,
  { layer, rollout }: { readonly layer: string; readonly rollout: string },
  reports: readonly Pick<Report, 'drifts'>[],
): Promise<void> {
  const { state } = stages
  const known = acknowledgedDrifts(state.known, rollout)
  const fresh = freshDrifts(reports, known)
  if (fresh.length === 0) return
  const by = { actor: 'foldgate', reason: sayDrifts(fresh) }
  try {
    const { changes } = await stages.ask('hold', layer, by)
    const notes = driftNotes(state.known, rollout, [...known, ...fresh.map(({ id }) => id)])
    // What holds already is told apart: nothing of it has moved.
    await state.note({ notes, by, ...(changes.length > 0 ? {} : { told: { layer, from: 'held', to: 'held' } }) })
  } catch (reason) {
    log.warn(
      { layer, reason: (reason as Error).message },
      'a layer under which a runner has changed is not on hold yet',
    )
  }
}
