import type { RedisLine } from '../../../config/store/redis-line.ts'
import type { Log } from '../../../plugins/host.ts'
import { changesBetween, emptyDocument, isOlder, missingTrips, type StageDocument } from './document.ts'
import type { Knowledge } from './knowledge.ts'
import type { Recorded } from './log.ts'
import { documentFromText, restoreScript, stateKeys, tripScript } from './scripts.ts'

/** Who repairs, and from what. */
export interface Repairing {
  readonly line: RedisLine
  readonly log: Log
  readonly knowledge: Knowledge
  /** The name of this replica, for the record. */
  readonly replica: string
}

/**
 * Takes over what the store has, and brings back what it lost: a trip that it does not know is told again, whoever made it, and a state
 * older than the one known here is replaced by that. Throws as {@link RedisLine.run}.
 */
export async function reconcile(repairing: Repairing, stored: StageDocument | undefined): Promise<void> {
  const { knowledge } = repairing
  const document = stored ?? emptyDocument
  const lost = isOlder(document, knowledge.known)
  if (lost) await restore(repairing, document)
  else knowledge.adopt(document)
  const missing = missingTrips(knowledge.known.tripped, document.tripped)
  // What was brought back has its trips with it.
  if (lost || Object.keys(missing).length === 0) return
  const record = recordOf(repairing, 'told again: the store did not have it')
  const args = [JSON.stringify(missing), record]
  take(repairing, await repairing.line.run(tripScript, [stateKeys.state, stateKeys.log], args))
}

async function restore(repairing: Repairing, stored: StageDocument): Promise<void> {
  const { line, log, knowledge } = repairing
  const { known } = knowledge
  log.warn({ stored: stored.rev, known: known.rev }, 'the store lost what was written; bringing it back')
  const changes = JSON.stringify(changesBetween(stored.layers, known.layers))
  const args = [JSON.stringify(known), changes, recordOf(repairing, 'brought back: the store had lost it')]
  take(repairing, await line.run(restoreScript, [stateKeys.state, stateKeys.log], args))
}

function recordOf({ replica }: Repairing, reason: string): string {
  const said: Recorded = { by: { actor: `replica ${replica}`, reason }, replica }
  return JSON.stringify(said)
}

function take({ knowledge }: Repairing, [, text]: readonly (number | string)[]): void {
  const document = documentFromText(String(text))
  if (document) knowledge.adopt(document)
}
