import type { Call } from '../../plugins/call.ts'
import type { Usage } from '../../plugins/chat.ts'
import type { ContextModes, LayerReads } from '../../plugins/execution-context-facts.ts'
import type { Layer } from '../../plugins/layer.ts'
import { closureOf } from '../../plugins/legality.ts'
import type { CallRecord } from '../call-record.ts'
import type { Folding } from '../runner-client.ts'
import type { CallFold } from './call-fold.ts'
import type { Decides } from './decides.ts'
import { type EndingParts, endFolded } from './ending.ts'
import { Fallback } from './fallback.ts'
import type { SendFolded } from './send.ts'
import type { ShadowSide } from './shadow/side.ts'

/** How calls are split with runners, under one configuration. */
export interface Folds {
  /** What the client's call is sent with; for a call of which the runner is to do something. */
  folding(fold: CallFold, record: CallRecord): Folding
  /** A caller who may debug wants every layer in the gateway for this call; undefined otherwise, or when they are there. */
  forced(record: CallRecord, fold: CallFold): Fallback | undefined
  /**
   * Takes observers out whose request the gateway has rewritten on the way: they are asked apart, about the call as they would have seen it.
   */
  leaveOut(call: Call, fold: CallFold, record: CallRecord): void
  /** The layers to take back for a fallback, outermost first. */
  closure(fold: CallFold, fallback: Fallback): readonly string[]
  /** A call did not come to the runner, since the gateway refused or answered it: the layers that were named are asked what they would have said. */
  tell(call: Call, record: CallRecord): void
  /** A call is over, however it ended. */
  over(record: CallRecord): void
}

/** What {@link Folds} are made from. */
export interface FoldsParts extends Omit<EndingParts, 'used' | 'unacknowledged'> {
  /** Every layer that is on, outermost first. */
  readonly layers: readonly Layer[]
  readonly send: SendFolded
  readonly decides: Decides
  readonly shadow: ShadowSide
  /** The runner that all targets of routing are models of; undefined where there is no such one. */
  readonly home: string | undefined
}

/** Makes the {@link Folds} of a configuration. */
export function createFolds({ layers, send, decides, shadow, home, acting }: FoldsParts): Folds {
  const rewriting = layers.filter(({ rewrites }) => rewrites).map(({ name }) => name)
  const chooser = layers.find(({ writes }) => writes.includes('target'))?.name
  return {
    folding: (fold, record) => ({
      fold,
      send,
      home: chooser !== undefined && fold.modes.get(chooser) === 'enforce' ? home : undefined,
      tapped: (folded, sent) => shadow.streams.tapped(fold, folded, sent),
      ended: (folded, ending, call) => {
        const used = (usage: Usage): void => {
          record.usage ??= usage
        }
        const unacknowledged = (names: readonly string[]): void => {
          fold.unheard(names)
        }
        endFolded(fold, folded, ending, { call, parts: { acting, used, unacknowledged } })
        shadow.streams.ended(fold, folded, ending)
        shadow.ended(record, fold, folded.asked.context)
      },
    }),
    forced({ forced }, fold) {
      if (!forced || fold.reason === 'debug_force') return undefined
      if (![...fold.modes.values()].includes('enforce') || !forced()) return undefined
      return new Fallback('debug_force', 'the caller asked for the gateway')
    },
    leaveOut(call, fold, record) {
      fold.inner = call
      for (const name of rewriting) {
        const seen = fold.seen.get(name)
        if (fold.modes.get(name) !== 'observe' || !seen) continue
        fold.leftOut(name)
        const modes = { [name]: 'observe' } as const
        const answer = shadow.asked(record, fold, modes)
        decides.ask({ call: seen, modes, copy: true, reads: readsFor(modes, seen, { fold, acting }), answer })
      }
    },
    closure(fold, { layers: failing }) {
      const folded = new Set([...fold.modes].filter(([, mode]) => mode === 'enforce').map(([name]) => name))
      return closureOf(layers, folded, failing.length > 0 ? failing : [...folded])
    },
    tell(call, record) {
      const { fold } = record
      if (!fold || fold.sends > 0 || fold.modes.size === 0 || call.signal.aborted) return
      const named = layers.filter(({ name }) => fold.modes.has(name)).map(({ name }) => name)
      const seen = fold.seen.get(named.at(-1) as string) ?? call
      const modes = Object.fromEntries(named.map((name) => [name, 'observe'] as const))
      const answer = shadow.asked(record, fold, modes)
      decides.ask({ call: seen, modes, copy: false, reads: readsFor(modes, seen, { fold, acting }), answer })
    },
    over(record) {
      shadow.live(record)
      if (record.fold && !cutShort.has(record.error?.code ?? '')) shadow.over(record, record.fold)
    },
  }
}

/** Calls that neither side has ended: there is nothing to hold against each other. */
const cutShort: ReadonlySet<string> = new Set(['client_closed', 'draining'])

interface ReadsFrom extends Pick<EndingParts, 'acting'> {
  readonly fold: CallFold
}

/** What those who decide here have read. Now, since the question is asked when the call may be over already. */
function readsFor(modes: ContextModes, call: Call, { fold, acting }: ReadsFrom): ReadonlyMap<string, LayerReads> {
  const found = new Map<string, LayerReads>()
  for (const name in modes) {
    const reads = fold.reads.get(name) ?? acting.get(name)?.reads?.(call)
    if (reads) found.set(name, reads)
  }
  return found
}
