import { createRandom } from '../../../test/support/random.ts'
import type { CallEnd } from '../../telemetry/call-span.ts'
import type { Attributes } from '../../telemetry/gen-ai.ts'
import type { Later } from '../later.ts'
import { type Collector, type CollectorParts, createCollector } from './collector.ts'
import type { Drawn } from './drawn.ts'

/** When the calls of these tests begin: on a whole window. */
export const began = 1_700_000_100_000

/** The short hash of something with a number. */
export function hashOf(number: number): string {
  const random = createRandom(number)
  return Array.from({ length: 16 }, () => Math.floor(random() * 16).toString(16)).join('')
}

/** How a call ended; what is not said is well. */
export interface TestEnd extends Omit<Partial<CallEnd>, 'attrs'> {
  readonly arm?: 'canary' | 'control'
  readonly unit?: number
  readonly at?: number
  readonly attrs?: Attributes
  /** Why the layer fell back. */
  readonly fallback?: string
}

/** The end of the span of a call of rollout `r1`, layer `prompt`, step S1, as the gateway tells it. */
export function endOf({ arm = 'canary', unit = 1, at = began, attrs, fallback, ...end }: TestEnd = {}): CallEnd {
  const inCanary = arm === 'canary' && fallback === undefined
  const status = fallback ? 'fallback' : inCanary ? 'evaporation-accelerating' : 'evaporation-started'
  return {
    code: 200,
    source: 'runner',
    ...end,
    attrs: {
      'foldgate.arm': inCanary ? 'proving' : 'shadow',
      'foldgate.layer.prompt.status': status,
      'foldgate.layer.prompt.by': inCanary ? 'runner' : 'gateway',
      'foldgate.layer.prompt.reason': fallback,
      'foldgate.fallback.reason': fallback,
      'foldgate.moving': 'prompt',
      'foldgate.stage': 'canary',
      'foldgate.step': 'S1',
      'foldgate.rollout': 'r1',
      'foldgate.unit': hashOf(unit),
      'foldgate.tenant': hashOf(unit),
      'foldgate.tier': 'free',
      'foldgate.started_at': at,
      'foldgate.first_byte_ms': 100,
      'foldgate.runner': 'gpu-a',
      'foldgate.stream': true,
      'foldgate.size': '1k',
      ...attrs,
    },
  }
}

/** The draw of the same call. */
export function drawnFor({ arm = 'canary', unit = 1, at = began }: TestEnd = {}, more: Partial<Drawn> = {}): Drawn {
  const [hash, tier] = [hashOf(unit), 'free']
  return { rollout: 'r1', step: 'S1', tier, arm, unit: hash, tenant: hash, startedAt: at, ...more }
}

/** Timers that run when they are told to. */
export interface HandTimers {
  readonly later: Later
  /** Runs all that wait. */
  run(): void
  readonly waiting: number
}

/** Makes {@link HandTimers}. */
export function createHandTimers(): HandTimers {
  let actions: (() => void)[] = []
  return {
    later(_, action) {
      actions.push(action)
      return () => {
        actions = actions.filter((each) => each !== action)
      }
    },
    run() {
      const due = actions
      actions = []
      for (const action of due) action()
    },
    get waiting() {
      return actions.length
    },
  }
}

/** A collector of replica `a` that stands at {@link began}, in step S1 of rollout `r1`; no time of it is dropped at first. */
export function collecting(parts: Partial<CollectorParts> = {}): Collector {
  const collector = createCollector({
    clock: { now: () => began },
    replica: 'a',
    boot: '1',
    later: () => () => undefined,
    warmUp: 0,
    ...parts,
  })
  collector.begin({ rollout: 'r1', step: 'S1', startedAt: began, limits: { '*': { q95Ms: 500, q99Ms: 900 } } })
  return collector
}

/** A call from its draw, if it is drawn, to its end. */
export function whole(collector: Collector, call: TestEnd): void {
  if (call.attrs?.['foldgate.chosen']) {
    collector.onEnd(endOf(call))
    return
  }
  const flight = collector.assigned(drawnFor(call))
  flight.started('gpu-a')
  collector.onEnd(endOf(call))
  flight.over()
}
