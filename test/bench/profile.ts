import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { createTempDir } from '../support/temp-dir.ts'
import { type CpuProfile, type Share, sharesOf } from './cpu-profile.ts'
import { cpuSecondsByThread } from './machine.ts'
import { callsTo, type Subject, warm } from './measure.ts'
import { benchOptions } from './options.ts'
import { createRig, type Rig } from './rig.ts'

/** `node test/bench/profile.ts [none|six|hit|spliced|stream] [--top N --ms N --tree DIR]`: where a saturated gateway spends its time. */
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    top: { type: 'string', default: '40' },
    ms: { type: 'string', default: '6000' },
    tree: { type: 'string' },
    keep: { type: 'string' },
  },
})

interface Case {
  readonly layers: boolean
  readonly stream: boolean
  readonly unique: boolean
}

const cases: Readonly<Record<string, Case>> = {
  none: { layers: false, stream: false, unique: true },
  six: { layers: true, stream: false, unique: true },
  hit: { layers: true, stream: false, unique: false },
  spliced: { layers: false, stream: true, unique: true },
  stream: { layers: true, stream: true, unique: true },
}

const root = benchOptions(['--source', ...(values.tree ? ['--tree', values.tree] : [])])
await using rig = await createRig(root)
for (const name of positionals.length > 0 ? positionals : ['none', 'six']) {
  const chosen = cases[name]
  if (!chosen) throw new TypeError(`there is no case "${name}": ${Object.keys(cases).join(' ')}`)
  print(name, await profileOf(rig, chosen))
}

interface Found {
  readonly profile: CpuProfile
  /** Microseconds of CPU a call, by thread. */
  readonly threads: ReadonlyMap<string, number>
}

async function profileOf(on: Rig, { layers, stream, unique }: Case): Promise<Found> {
  await using dir = createTempDir()
  const file = values.keep ?? dir.file('gateway.cpuprofile')
  const gateway = await on.gateway({
    layers: layers ? on.layers.all : {},
    upstream: stream ? on.upstream.flood : on.upstream.json,
    nodeFlags: ['--import', new URL('profiler.ts', import.meta.url).href],
    env: { BENCH_PROFILE: file },
  })
  const { port, pid } = gateway
  const subject: Subject = { name: 'profiled', port, pid, unique, ...(layers ? { token: on.layers.token } : {}) }
  await warm(on, subject, { bodyBytes: 5 * 1024, stream })
  gateway.process.signal('SIGUSR2')
  await gateway.process.shows(/profile begun/)
  const before = cpuSecondsByThread(pid)
  const plan = { ...callsTo(subject, 5 * 1024), stream, connections: stream ? 96 : 64, forMs: Number(values.ms) }
  const { calls } = await on.clients.saturate(plan)
  const threads = [...cpuSecondsByThread(pid)].map(
    ([name, used]) => [name, ((used - (before.get(name) ?? 0)) / calls) * 1e6] as const,
  )
  gateway.process.signal('SIGUSR2')
  await gateway.process.shows(/profile written/)
  await gateway[Symbol.asyncDispose]()
  return { profile: JSON.parse(readFileSync(file, 'utf8')) as CpuProfile, threads: new Map(threads) }
}

function print(name: string, { profile, threads }: Found): void {
  const { functions, rooms, lines, idle } = sharesOf(profile, root.tree)
  const top = Number(values.top)
  console.log(`\n== ${name}: busy ${((1 - idle) * 100).toFixed(0)} % of the time`)
  for (const [thread, micros] of threads)
    if (micros >= 1) console.log(`${micros.toFixed(0).padStart(6)} µs a call  ${thread}`)
  list('rooms by self time', rooms, { by: 'self', top })
  list('functions by self time', functions, { by: 'self', top })
  const own = functions.filter((each) => isOwn.test(each.name))
  list('own functions by inclusive time', own, { by: 'inclusive', top })
  const ownLines = lines.filter((each) => isOwn.test(each.name))
  list('own lines by self time', ownLines, { by: 'self', top })
}

const isOwn = /(?:^| )(?:dist\/)?(?:proxy|plugins)\//

function list(title: string, shares: readonly Share[], { by, top }: { by: 'self' | 'inclusive'; top: number }): void {
  console.log(`\n${title}\n   self   incl`)
  for (const { name, self, inclusive } of shares.toSorted((a, b) => b[by] - a[by]).slice(0, top)) {
    if (Math.max(self, inclusive) < 0.002) break
    console.log(`${percent(self)} ${percent(inclusive)}  ${name}`)
  }
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)}%`.padStart(6)
}
