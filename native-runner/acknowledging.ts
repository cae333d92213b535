import {
  type Acknowledgement,
  essenceDigest,
  type LayerMember,
  type Outcome,
  type RunnerMember,
} from '../plugins/acknowledgement.ts'
import type { Call } from '../plugins/call.ts'
import type { GatewayError } from '../plugins/errors.ts'
import type { ExecutionContext } from '../plugins/execution-context.ts'
import { type Layer, type LayerNotes, type Mode, wholeVerdict } from '../plugins/layer.ts'
import type { Seated, Witness } from '../plugins/stack.ts'
import { pass, type Verdict } from '../plugins/verdict.ts'
import type { Spent } from './inside.ts'

/** Hears what the layers of one call do, and says it. */
export interface Acknowledging {
  readonly witness: Witness
  /** Everything so far; `armed` are those who act on an answer that is still being made. */
  head(said: { readonly streamed: boolean; readonly failure?: GatewayError; readonly spent?: Spent }): Acknowledgement
  /** What came of an answer that was being made. */
  end(said: { readonly failure?: GatewayError; readonly spent?: Spent }): Acknowledgement
}

/** Whose call it is, and what acts. */
export interface AcknowledgingParts {
  readonly context: Pick<ExecutionContext, 'id' | 'pol' | 'modes'>
  /** The call as it comes to the outermost layer. */
  readonly call: Call
  readonly runner: Pick<RunnerMember, 'boot' | 'caps' | 'dir'>
  readonly seats: readonly Seated<Mode>[]
  readonly layers: readonly Layer[]
}

interface Heard {
  readonly seat: Seated<Mode>
  readonly verdict: Verdict
  readonly call: Call
  ms: number
  /** What it said of itself just before it was released; undefined until then. */
  notes?: LayerNotes
}

/** Makes the {@link Acknowledging} of one call. */
export function createAcknowledging({
  context,
  call: first,
  runner,
  seats,
  layers,
}: AcknowledgingParts): Acknowledging {
  const heard = new Map<string, Heard>()
  const contracts = new Map(layers.map(({ name, native }) => [name, native]))
  const hears: Witness['heard'] = (seat, verdict, ms, call) => void heard.set(seat.name, { seat, verdict, call, ms })
  const acts = (seat: Seated<Mode>): boolean => seat.mode === 'enforce' && (contracts.get(seat.name)?.arms ?? false)
  const member = (each: Heard, o: Outcome, code?: string): LayerMember => {
    const { seat, verdict, call, ms, notes = notesOf(seat, call) } = each
    const e = essenceOf(verdict, call, contracts.get(seat.name))
    return {
      ...versioned(contracts.get(seat.name)?.version),
      m: context.modes[seat.name] as Mode,
      o,
      ...(code === undefined ? {} : { code }),
      d: Math.round(ms * 1_000),
      ...(e === undefined ? {} : { e }),
      ...whoFrom(verdict),
      ...notes,
    }
  }
  /** Layers that decide nothing are never heard: they let everything pass. */
  const reached = (): readonly Heard[] => {
    const found: Heard[] = []
    let call = first
    for (const seat of seats) {
      const silent = seat.acting.decide ? undefined : { seat, verdict: pass(), call, ms: 0 }
      const each = heard.get(seat.name) ?? silent
      if (!each) return found
      found.push(each)
      call = each.call
      if (each.verdict.kind !== 'pass' && seat.mode === 'enforce') return found
    }
    return found
  }
  const outcome = ({ seat, verdict }: Heard, streamed: boolean, failure?: GatewayError): [Outcome, string?] => {
    if (verdict.kind === 'refuse') return ['refuse', verdict.error.code]
    if (verdict.kind === 'answer' || !acts(seat)) return [verdict.kind]
    if (failure) return ['failed', failure.code]
    return [streamed ? 'armed' : 'pass']
  }
  return {
    witness: {
      heard: hears,
      settled(seat, ms) {
        const known = heard.get(seat.name)
        if (known) known.ms += ms
      },
      ending(seat, call) {
        const known = heard.get(seat.name)
        if (known) known.notes = notesOf(seat, call)
      },
    },
    head({ streamed, failure, spent }) {
      const members = reached().map(
        (each) => [each.seat.name, member(each, ...outcome(each, streamed, failure))] as const,
      )
      const { id, pol } = context
      const { dir, ...rest } = runner
      const who = { ...rest, id, pol, ...(dir === undefined ? {} : { dir }) }
      return { runner: who, layers: Object.fromEntries(members), ...(spent ? { usage: spent } : {}) }
    },
    end({ failure, spent }) {
      const members = reached().flatMap(({ seat, verdict, notes }) => {
        const armed = verdict.kind === 'pass' && acts(seat)
        const o = armed ? ({ o: failure ? 'failed' : 'ok' } as const) : {}
        const said = {
          ...o,
          ...(armed && failure ? { code: failure.code } : {}),
          ...(notes?.used === undefined ? {} : { used: notes.used }),
        }
        return Object.keys(said).length > 0 ? [[seat.name, said] as const] : []
      })
      return { runner: { id: context.id }, layers: Object.fromEntries(members), ...(spent ? { usage: spent } : {}) }
    },
  }
}

function versioned(v: number | undefined): Pick<LayerMember, 'v'> {
  return v === undefined ? {} : { v }
}

/** Whom a layer has recognised. */
function whoFrom(verdict: Verdict): LayerNotes {
  const principal = verdict.kind === 'pass' ? verdict.facts.principal : undefined
  return principal ? { sub: principal.id, ten: principal.tenant, tier: principal.tier } : {}
}

/** A witness must not throw: what a layer cannot say is left out. */
function notesOf({ acting }: Seated, call: Call): LayerNotes {
  try {
    return acting.notes?.(call) ?? {}
  } catch {
    return {}
  }
}

function essenceOf(verdict: Verdict, call: Call, native: Layer['native']): string | undefined {
  try {
    return essenceDigest(native?.essence ? native.essence(verdict, call) : wholeVerdict(verdict))
  } catch {
    return undefined
  }
}
