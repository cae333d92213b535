import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { createTempDir } from '../support/temp-dir.ts'
import { type CpuProfile, type Share, sharesOf } from './cpu-profile.ts'
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

async function profileOf(on: Rig, { layers, stream, unique }: Case): Promise<CpuProfile> {
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
  const forMs = Number(values.ms)
  await on.clients.saturate({ ...callsTo(subject, 5 * 1024), stream, connections: stream ? 96 : 64, forMs })
  gateway.process.signal('SIGUSR2')
  await gateway.process.shows(/profile written/)
  await gateway[Symbol.asyncDispose]()
  return JSON.parse(readFileSync(file, 'utf8')) as CpuProfile
}

function print(name: string, profile: CpuProfile): void {
  const { functions, rooms, idle } = sharesOf(profile, root.tree)
  const top = Number(values.top)
  console.log(`\n== ${name}: busy ${((1 - idle) * 100).toFixed(0)} % of the time`)
  list('rooms by self time', rooms, { by: 'self', top })
  list('functions by self time', functions, { by: 'self', top })
  const own = functions.filter((each) => /(?:^| )(?:dist\/)?(?:proxy|plugins)\//.test(each.name))
  list('own functions by inclusive time', own, { by: 'inclusive', top })
}

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
