import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { createTempDir } from '../support/temp-dir.ts'
import { type Case, caseNamed, startCase } from './cases.ts'
import { type CpuProfile, type Share, sharesOf } from './cpu-profile.ts'
import { cpuSecondsByThread } from './machine.ts'
import { callsTo, warm } from './measure.ts'
import { benchOptions } from './options.ts'
import { createRig, type Rig } from './rig.ts'

/** `node test/bench/profile.ts [CASE …] [--top N --ms N --tree DIR]`: where a saturated gateway spends its time. */
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    top: { type: 'string', default: '40' },
    ms: { type: 'string', default: '6000' },
    tree: { type: 'string' },
    keep: { type: 'string' },
  },
})

const isOwn = /(?:^| )(?:dist\/)?(?:proxy|plugins)\//
const root = benchOptions(['--source', ...(values.tree ? ['--tree', values.tree] : [])])
await using rig = await createRig(root)
for (const name of positionals.length > 0 ? positionals : ['none', 'six']) {
  print(name, await profileOf(rig, caseNamed(name)))
}

interface Found {
  readonly profile: CpuProfile
  /** Microseconds of CPU a call, by thread. */
  readonly threads: ReadonlyMap<string, number>
}

async function profileOf(on: Rig, chosen: Case): Promise<Found> {
  await using dir = createTempDir()
  const file = values.keep ?? dir.file('gateway.cpuprofile')
  const { proxy, subject, load } = await startCase(on, 'profiled', {
    case: chosen,
    nodeFlags: ['--import', new URL('profiler.ts', import.meta.url).href],
    env: { BENCH_PROFILE: file },
  })
  await warm(on, subject, load)
  const { process: running, pid } = proxy
  running.signal('SIGALRM')
  await running.shows(/profile begun/)
  const before = cpuSecondsByThread(pid)
  const plan = { ...callsTo(subject, load.bodyBytes), ...load, forMs: Number(values.ms) }
  const { calls } = await on.clients.saturate(plan)
  const threads = [...cpuSecondsByThread(pid)].map(
    ([name, used]) => [name, ((used - (before.get(name) ?? 0)) / calls) * 1e6] as const,
  )
  running.signal('SIGALRM')
  await running.shows(/profile written/)
  await proxy[Symbol.asyncDispose]()
  return { profile: JSON.parse(readFileSync(file, 'utf8')) as CpuProfile, threads: new Map(threads) }
}

function print(name: string, { profile, threads }: Found): void {
  const { functions, rooms, lines, idle } = sharesOf(profile, root.tree)
  const top = Number(values.top)
  console.log(`\n== ${name}: busy ${((1 - idle) * 100).toFixed(0)} % of the time`)
  for (const [thread, micros] of threads)
    if (micros >= 1) console.log(`${micros.toFixed(0).padStart(6)} µs a call  ${thread}`)
  const micros = threads.get('main thread') ?? Number.NaN
  const list = (title: string, shares: readonly Share[], by: 'self' | 'inclusive'): void => {
    console.log(`\n${title}, in µs a call\n    self    incl`)
    for (const { name: what, self, inclusive } of shares.toSorted((a, b) => b[by] - a[by]).slice(0, top)) {
      console.log(`${(self * micros).toFixed(1).padStart(8)}${(inclusive * micros).toFixed(1).padStart(8)}  ${what}`)
    }
  }
  list('rooms by self time', rooms, 'self')
  list('functions by self time', functions, 'self')
  const own = functions.filter((each) => isOwn.test(each.name))
  list('own functions by inclusive time', own, 'inclusive')
  const ownLines = lines.filter((each) => isOwn.test(each.name))
  list('own lines by self time', ownLines, 'self')
}
