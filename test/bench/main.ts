import { writeFileSync } from 'node:fs'
import { canary } from './canary.ts'
import { chain } from './chain.ts'
import { folded } from './folded.ts'
import { latency } from './latency.ts'
import { layerTimes } from './layer-times.ts'
import { type Cores, coresOfMachine, machineInWords } from './machine.ts'
import { memory } from './memory.ts'
import { benchOptions, entryPoint, type SuiteName } from './options.ts'
import { type SuiteResult, tableOf } from './report.ts'
import { createRig, type Rig } from './rig.ts'
import { saturated } from './saturated.ts'
import { sse } from './sse.ts'

/** `npm run bench`: the gateway against its targets. Only what was measured side by side in one run is compared. */
const suites: Readonly<Record<Exclude<SuiteName, 'canary'>, (rig: Rig) => Promise<SuiteResult>>> = {
  latency,
  saturated,
  sse,
  layers: layerTimes,
  memory,
  folded,
  chain,
}

const options = benchOptions(process.argv.slice(2))
const results: SuiteResult[] = []
const machine = await run()
if (options.json) writeFileSync(options.json, `${JSON.stringify({ machine, options, results }, undefined, 2)}\n`)
const rows = results.flatMap((result) => result.rows)
const count = (verdict: string): number => rows.filter((row) => row.verdict === verdict).length
console.log(`${count('pass')} pass, ${count('miss')} miss, ${count('skipped')} skipped`)

/**
 * With one call under way only one process is at work at a time: on one core they hand over without waking another one up, which on a
 * virtual machine takes longer than the call.
 */
function coresFor(suite: SuiteName): Cores {
  // Seven services on one core against one process on one core would be no comparison: the kernel places them.
  if (suite === 'chain') return { tested: undefined, rest: undefined }
  const cores = coresOfMachine()
  return suite === 'latency' ? { tested: cores.tested, rest: cores.tested } : cores
}

async function measured(name: Exclude<SuiteName, 'canary'>): Promise<SuiteResult> {
  // A rig for each suite: no suite runs beside processes that another one has started.
  await using rig = await createRig(options, coresFor(name))
  return await suites[name](rig)
}

async function run(): Promise<string> {
  const first = machineInWords(coresOfMachine())
  console.log(`${first}\n${entryPoint(options)}; metrics on, log level warn, no spans exported\n`)
  for (const name of options.suites) {
    const result = name === 'canary' ? canary(options.canary) : await measured(name)
    results.push(result)
    console.log(tableOf(result))
  }
  return first
}
