import { gatewayError } from '../../../plugins/errors.ts'
import type { ChangedBy } from '../stages.ts'
import type { Notes, StageDocument } from './document.ts'
import type { NoteResult, RolloutState, Told } from './state.ts'

/**
 * What people switch for all layers and all replicas. `freeze`: nothing moves forward, while rollbacks act as ever. `no-stream`: callers
 * that ask for a stream get one that was made from a whole answer.
 */
export const switchNames = ['freeze', 'no-stream'] as const

/** One of {@link switchNames}. */
export type SwitchName = (typeof switchNames)[number]

/** Who has switched something on, why, and when, in milliseconds since the epoch. */
export interface Switched extends ChangedBy {
  readonly at: number
}

/** Whether a switch is on: asked on every call. */
export function isOn({ notes }: Pick<StageDocument, 'notes'>, name: SwitchName): boolean {
  return notes?.[name] !== undefined
}

/** Who has a switch on; undefined: it is off. */
export function switchedOn({ notes }: Pick<StageDocument, 'notes'>, name: SwitchName): Switched | undefined {
  const text = notes?.[name]
  if (text === undefined) return undefined
  try {
    return JSON.parse(text) as Switched
  } catch {
    // On is the safe side of every switch there is.
    return { actor: 'unknown', reason: text.slice(0, 200), at: 0 }
  }
}

/** Why nothing moves, in words. */
export function sayFrozen({ actor, reason }: Switched): string {
  return `everything is frozen by ${actor}: ${reason}`
}

const words: Readonly<Record<SwitchName, readonly [off: string, on: string]>> = {
  freeze: ['moving', 'frozen'],
  'no-stream': ['streams', 'no streams'],
}

function toldOf(name: SwitchName, on: boolean): Told {
  const [off, turned] = words[name]
  return on ? { layer: '*', from: off, to: turned } : { layer: '*', from: turned, to: off }
}

/** What is asked of a switch. */
export interface SwitchChange {
  readonly name: SwitchName
  readonly on: boolean
  readonly by: ChangedBy
  /** Milliseconds since the epoch. */
  readonly now: number
}

/** Turns a switch on or off for all replicas; false when it was so already. Throws `stage_refused` saying why not. */
export async function turnSwitch(state: RolloutState, { name, on, by, now }: SwitchChange): Promise<boolean> {
  if ((switchedOn(state.known, name) !== undefined) === on) return false
  const said: Switched = { ...by, at: now }
  const notes = { [name]: on ? JSON.stringify(said) : '' }
  const result = await state.note({ notes, keeps: on, by, told: toldOf(name, on) })
  if (result === 'done' || result === 'known') return result === 'done'
  throw gatewayError('stage_refused', refusals[result])
}

const refusals: Readonly<Record<Exclude<NoteResult, 'done' | 'known'>, string>> = {
  fenced: 'another replica leads; ask it',
  stale: 'somebody else has just changed something; look again',
  unavailable: 'the store of the stages does not answer',
}

/** What somebody has switched between two states of the notes, for a replica that was only told of the outcome. */
export function switchBetween(before: Notes = {}, after: Notes = {}): { by?: ChangedBy; told: Told } | undefined {
  const name = switchNames.find((each) => before[each] !== after[each])
  if (!name) return undefined
  const now = switchedOn({ notes: after }, name)
  return { told: toldOf(name, now !== undefined), ...(now ? { by: { actor: now.actor, reason: now.reason } } : {}) }
}
