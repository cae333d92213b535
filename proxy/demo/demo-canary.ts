import { setTimeout as delay } from 'node:timers/promises'
import { expectedCanaryCalls } from './demo-expectation.ts'
import { type DemoHouse, demoLayer, openDemoHouse } from './demo-house.ts'
import { type DemoLoad, startDemoLoad } from './demo-load.ts'
import { createStageClient, type StageClient } from './demo-stages.ts'

/** What is shown, and to whom. */
export interface DemoOptions {
  /** Shares of the shaky runner's signed calls that break, in percent. */
  readonly faults: readonly number[]
  /** Shares of the canary at which they begin, in percent. */
  readonly shares: readonly number[]
  /** How many times the real rates are those that are told apart; 1: as they are. */
  readonly scale: number
  readonly signal: AbortSignal
  say(line: string): void
}

/** Whether everything came as it should: no caller noticed anything, and every fault that was waited for took the layer back. */
export async function demoCanary(options: DemoOptions): Promise<boolean> {
  const { say, scale } = options
  say('Starting a gateway and two runners (echo engines), with a fault on the way to one of them.')
  if (scale !== 1)
    say(
      `Rates that the tests tell apart are ${scale} times the real ones, for this takes fewer calls; --real has them as they are.`,
    )
  const house = await openDemoHouse(options.scale)
  const load = startDemoLoad(house.gateway.url, demoLayer)
  try {
    const scene: Scene = { ...options, house, load, stages: createStageClient(house.gateway, options.scale) }
    const climbed = await climb(scene)
    const rows: Row[] = []
    say(
      `\nNow the fault. Half of all calls go to the shaky runner. Expectations are means; single runs scatter widely.\n\n${head}`,
    )
    for (const stage of options.shares)
      for (const fault of options.faults) {
        if (options.signal.aborted) return false
        const row = await fall(scene, stage, fault)
        rows.push(row)
        say(lineOf(row))
      }
    const noticed = rows.reduce((sum, { failed }) => sum + failed, 0) + climbed.failed
    say(`\nCalls that failed for their callers, in all of this: ${noticed}`)
    return noticed === 0 && climbed.arrived && rows.every(({ back }) => back)
  } finally {
    await load.stop()
    await house.close()
  }
}

interface Scene extends DemoOptions {
  readonly house: DemoHouse
  readonly load: DemoLoad
  readonly stages: StageClient
}

/** A layer goes out by itself, from shadow to native, on nothing but evidence. */
async function climb({
  load,
  stages,
  say,
  signal,
}: Scene): Promise<{ readonly arrived: boolean; readonly failed: number }> {
  say(`\n${demoLayer} goes into shadow; from there the autopilot takes it on when every gate is met.\n`)
  await stages.ask('shadow')
  load.reset()
  let [said, quiet, from] = ['', 0, { calls: 0, canary: 0, at: Date.now() }]
  for (;;) {
    const now = stages.now()
    if (now !== said) {
      const took = ((Date.now() - from.at) / 1_000).toFixed(0)
      if (said)
        say(
          `  ${said.padEnd(14)} left after ${load.calls - from.calls} calls, ${load.canary - from.canary} decided by the runner, ${took} s`,
        )
      from = { calls: load.calls, canary: load.canary, at: Date.now() }
      said = now
      quiet = 0
    }
    if (now === 'native' || now === 'rolled-back' || signal.aborted) break
    if (++quiet % 100 === 0) say(`  ${now.padEnd(14)} … ${await stages.waitsFor()}`)
    await delay(100, undefined, { ref: true })
  }
  say(`  ${said}`)
  return { arrived: said === 'native', failed: load.failed }
}

interface Row {
  readonly stage: number
  readonly fault: number
  readonly back: boolean
  readonly ms: number
  readonly calls: number
  readonly canary: number
  readonly failed: number
  readonly expected: number
  readonly why: string
}

/** At one share of the canary a share of what is signed begins to break; until the layer is back. */
async function fall({ house, load, stages, signal }: Scene, stage: number, fault: number): Promise<Row> {
  const expected = expectedCanaryCalls(fault / 100, stages.constantsAt(stage))
  await stages.to(stage)
  load.reset()
  while (load.canary < Math.min(20, stage * 20) && !signal.aborted) await delay(20)
  const failedBefore = load.failed
  load.reset()
  const began = performance.now()
  house.shaky.shake(fault / 100)
  const patienceMs = 600_000
  while (stages.now().startsWith('canary') && performance.now() - began < patienceMs && !signal.aborted) await delay(2)
  const { calls, canary, failed } = load
  const ms = performance.now() - began
  house.shaky.shake(0)
  const back = stages.now() === 'rolled-back'
  return { stage, fault, back, ms, calls, canary, expected, failed: failed + failedBefore, why: stages.reason() }
}

const head = 'canary  fault   taken back after        calls  by the runner  expected  failed  why'

function lineOf({ stage, fault, back, ms, calls, canary, expected, failed, why }: Row): string {
  const after = back ? `${(ms / 1_000).toFixed(2)} s` : 'not taken back'
  const numbers = `${String(calls).padStart(10)}  ${String(canary).padStart(13)}  ${expected.toFixed(0).padStart(8)}  ${String(failed).padStart(6)}`
  return `${`${stage} %`.padEnd(7)} ${`${fault} %`.padEnd(7)} ${after.padEnd(18)} ${numbers}  ${why}`
}
