import type { Kept } from './kept.ts'
import type { BareDocument, Pending } from './peer-messages.ts'
import { stateKeys } from './scripts.ts'

/** Who may lead, as far as this replica has promised. */
export interface Promised {
  /** 0: nobody yet. */
  readonly fence: number
  readonly holder: string
}

/**
 * What this replica has promised and accepted, as one voter of many. Each step is written down before it is said, so that a restart does
 * not take anything back (Lamport, Paxos Made Simple, 2001: a fence is a ballot, and a revision is decided by most accepting it).
 */
export interface Ballot {
  readonly promised: Promised
  readonly pending: Pending | undefined
  /** Promises to follow nobody of a lower fence. A fence is promised to one replica only. */
  promise(fence: number, holder: string): boolean
  /** Accepts a state from whoever holds the highest fence. */
  accept(pending: Pending, holder: string): boolean
  /** What was pending is decided by a state of its revision or a later one, or void since it was pending under a fence before `settled`. */
  settle(decided: BareDocument, settled?: number): void
}

/** The keys of a {@link Ballot}, for the file. */
export const ballotKeys = { promised: `${stateKeys.fence}:promised`, pending: `${stateKeys.state}:pending` }

/** Makes a {@link Ballot} over what was kept. */
export function createBallot({ memory, change }: Kept): Ballot {
  const read = <T>(key: string): T | undefined => {
    const text = memory.get(key)
    return text === undefined ? undefined : (JSON.parse(text) as T)
  }
  const promisedNow = (): Promised => read<Promised>(ballotKeys.promised) ?? { fence: 0, holder: '' }
  const isFor = ({ fence, holder }: Promised): boolean => {
    const promised = promisedNow()
    return fence > promised.fence || (fence === promised.fence && holder === promised.holder)
  }
  const write = (promised: Promised, pending?: Pending): boolean =>
    change((kept) => {
      kept.set(ballotKeys.promised, JSON.stringify(promised))
      if (pending) kept.set(ballotKeys.pending, JSON.stringify(pending))
    })
  return {
    get promised() {
      return promisedNow()
    },
    get pending() {
      return read<Pending>(ballotKeys.pending)
    },
    promise: (fence, holder) => isFor({ fence, holder }) && write({ fence, holder }),
    accept: (pending, holder) =>
      isFor({ fence: pending.fence, holder }) && write({ fence: pending.fence, holder }, pending),
    settle(decided, settled = 0) {
      const pending = read<Pending>(ballotKeys.pending)
      if (!pending || (pending.document.rev > decided.rev && pending.fence >= settled)) return
      change((kept) => kept.delete(ballotKeys.pending))
    },
  }
}
