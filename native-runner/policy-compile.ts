import type { Directives } from '../plugins/directives.ts'
import { gatewayError, gatewayErrorFrom } from '../plugins/errors.ts'
import type { Seat } from '../plugins/host.ts'
import { createInsideDigest } from '../plugins/inside-digest.ts'
import type { Acting, Layer, StepFinding } from '../plugins/layer.ts'
import type { Policy, PolicyStep } from '../plugins/policy.ts'
import type { LayerReport } from '../plugins/policy-report.ts'
import { createTightened, type Tightened } from '../plugins/tightened.ts'
import type { RunnerSide, SeatMaker } from './seat.ts'
import { findingFromAct, findingFromStep } from './step-findings.ts'

/** The layers of one policy that act on one side. */
export interface CompiledSide {
  readonly acting: ReadonlyMap<string, Acting>
  /** What became of each step. */
  readonly report: Readonly<Record<string, LayerReport>>
  /** Some of them can be tightened by what a caller asks. */
  readonly tightens: boolean
  /** Compiles what directives ask of each of them. Throws `invalid_request` naming the first that does not hold. */
  ready(directives: Directives): Promise<void>
  close(): Promise<void>
}

/** What policies are compiled with. */
export interface CompileParts {
  readonly layers: readonly Layer[]
  readonly seatOf: SeatMaker
}

/** Compiles the steps of a policy for one side, each by itself: one that cannot be held to is reported and does not act. Never throws. */
export async function compileSide(policy: Policy, side: RunnerSide, parts: CompileParts): Promise<CompiledSide> {
  const acting = new Map<string, Acting>()
  const tightened: Tightened[] = []
  const seat = parts.seatOf(side, createInsideDigest(parts.layers, acting))
  const report: Record<string, LayerReport> = {}
  for (const each of policy.steps) {
    const start = performance.now()
    const finding = await compileStep(each, parts.layers, seat).then(({ made, found }) => {
      if (made) acting.set(each.layer, made)
      if (made && 'ready' in made) tightened.push(made as Tightened)
      return found
    })
    report[each.layer] = { ...finding, ms: Math.round((performance.now() - start) * 1_000) / 1_000 }
  }
  return {
    acting,
    report,
    tightens: tightened.length > 0,
    async ready(directives) {
      for (const each of tightened) await each.ready(directives)
    },
    async close() {
      await Promise.allSettled([...acting.values()].map((each) => each.close?.()))
    },
  }
}

interface Compiled {
  readonly found: StepFinding
  /** Absent when refused. */
  readonly made?: Acting
}

async function compileStep(each: PolicyStep, layers: readonly Layer[], seat: Seat): Promise<Compiled> {
  const layer = layers.find(({ name, native }) => name === each.layer && native)
  const early = findingFromStep(each, layer?.native)
  if (!layer?.native || early) return { found: early ?? { status: 'refused', code: 'UNKNOWN_LAYER' } }
  try {
    const found = layer.native.inspect?.(each.step, seat) ?? { status: 'compiled' }
    if (found.status === 'refused') return { found }
    return { found, made: await actingFrom(layer, each.step, seat) }
  } catch (fault) {
    seat.log.warn({ layer: each.layer, reason: gatewayErrorFrom(fault).message }, 'a step of a policy is refused')
    return { found: findingFromAct(fault) }
  }
}

async function actingFrom({ native, tighten }: Layer, step: unknown, seat: Seat): Promise<Acting> {
  const base = (await native?.act(step, seat)) as Acting
  if (!tighten) return base
  return createTightened({
    base,
    step,
    tighten,
    async act(stricter) {
      const found = native?.inspect?.(stricter, seat)
      if (found?.status === 'refused')
        throw gatewayError('invalid_request', `what the directives ask cannot be held to here: ${found.code}`)
      return native?.act(stricter, seat) as Acting
    },
  })
}
