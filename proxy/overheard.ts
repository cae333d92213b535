import type { Call, Principal } from '../plugins/call.ts'
import { layers as allLayers } from '../plugins/index.ts'
import type { Acting, Layer } from '../plugins/layer.ts'
import { pass, type Verdict } from '../plugins/verdict.ts'
import type { FoldSeat } from './folding/seats.ts'
import type { Setup } from './setup.ts'

/** What one layer said of a call, and what it was asked. */
export interface HeardVerdict {
  readonly verdict: Verdict
  readonly call: Call
}

/** What the layers here have said of one call, for a caller who wants to be told more than others. */
export interface Overheard {
  /** The latest word of each layer that was asked here, deciding or observing. */
  readonly verdicts: ReadonlyMap<string, HeardVerdict>
  /** Who is calling; undefined while auth has not spoken, and for whom it refuses. */
  readonly principal: Principal | undefined
}

const layers: readonly Layer[] = allLayers
/** Layers that find out who is calling. */
export const principalTellers: ReadonlySet<string> = new Set(
  layers.filter(({ writes }) => writes.includes('principal')).map(({ name }) => name),
)

/**
 * The setup with ears: what layers say of the one call that it is made for is kept. The gateway half of auth speaks too where the runner
 * decides, since a right hangs on scopes that only it knows. `after` are seats that come right behind auth, but where no model is asked.
 */
export function overhear(
  setup: Setup,
  after: readonly FoldSeat[] = [],
): { readonly setup: Setup; readonly overheard: Overheard } {
  const verdicts = new Map<string, HeardVerdict>()
  const overheard: Overheard = {
    verdicts,
    get principal() {
      for (const name of principalTellers) {
        const heard = verdicts.get(name)
        if (heard?.verdict.kind === 'pass') return heard.verdict.facts.principal
      }
      return undefined
    },
  }
  const listening: Setup['seating'] = (route) => {
    const plain = setup.seating(route)
    return { ...plain, seats: plain.seats.map((seat) => withEars(seat, verdicts)) }
  }
  return { setup: behindAuth({ ...setup, seating: listening }, after), overheard }
}

/** The setup with further seats right behind auth, but where no model is asked. */
export function behindAuth(setup: Setup, after: readonly FoldSeat[]): Setup {
  if (after.length === 0) return setup
  const seating: Setup['seating'] = (route) => {
    const plain = setup.seating(route)
    if (route === 'models') return plain
    return {
      ...plain,
      seats: plain.seats.flatMap((seat) => (principalTellers.has(seat.name) ? [seat, ...after] : [seat])),
    }
  }
  return { ...setup, seating }
}

function withEars(seat: FoldSeat, verdicts: Map<string, HeardVerdict>): FoldSeat {
  const { draw, vetoes, ...fixed } = seat
  const heard = { ...fixed, acting: hearing(seat, verdicts) }
  // It is heard and no more: the runner decides, and the status says so.
  if (seat.mode === 'away' && principalTellers.has(seat.name)) return { ...heard, mode: 'observe' }
  return { ...heard, ...(draw ? { draw } : {}), ...(vetoes ? { vetoes } : {}) }
}

function hearing({ name, acting }: FoldSeat, verdicts: Map<string, HeardVerdict>): Acting {
  if (!acting.decide) return acting
  const decide: NonNullable<Acting['decide']> = (call, mode, reads) => {
    const hear = (verdict: Verdict): Verdict => {
      verdicts.set(name, { verdict, call })
      return verdict
    }
    const said = acting.decide?.(call, mode, reads) ?? pass()
    return said instanceof Promise ? said.then(hear) : hear(said)
  }
  // Whatever else it does it goes on doing as itself.
  return Object.assign(Object.create(acting) as Acting, { decide })
}
