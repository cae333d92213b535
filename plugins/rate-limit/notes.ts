import { sha256 } from '../canonical.ts'
import type { LayerNotes } from '../layer.ts'
import type { Account } from './account.ts'
import { levelsAfter } from './levels.ts'
import { tightestOf } from './limit-headers.ts'
import { remainingOf } from './rule.ts'

/**
 * What the acknowledgement says of a call: tokens reserved, what the tightest tokens quota has left with them, the digest of its bucket, and,
 * once it is known, the tokens used. Undefined where nothing limits the call.
 */
export function notesOf({ grant, bill }: Account): LayerNotes | undefined {
  const { asked, held, standings, refusal } = grant
  const tightest = tightestOf(refusal ? standings : levelsAfter(standings, undefined), 'tokens')
  const bucket = asked.find(({ quota }) => quota === tightest?.quota) ?? asked[0]
  if (!bucket) return undefined
  const reserved = held.filter(({ want }) => want.quota.of === 'tokens').map(({ cost }) => cost)
  return {
    ...(reserved.length > 0 ? { rsv: Math.max(...reserved) } : {}),
    ...(tightest ? { rem: remainingOf(tightest) } : {}),
    bkt: sha256(bucket.key).slice(0, 16),
    ...(bill ? { used: bill.tokens } : {}),
  }
}
