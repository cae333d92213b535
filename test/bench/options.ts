import { existsSync, readdirSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { type CanaryModel, canaryFlags, canaryModel, canaryUsage } from './canary-model.ts'

/** The suites, in the order in which `all` runs them. */
export const suiteNames = ['latency', 'saturated', 'sse', 'layers', 'memory', 'folded', 'chain', 'canary'] as const

/** One suite. */
export type SuiteName = (typeof suiteNames)[number]

/** How long everything takes. */
export interface Durations {
  /** How often each subject is measured, in turn with the others. */
  readonly rounds: number
  /** One saturated measurement, in milliseconds. */
  readonly roundMs: number
  /** Load before the first measurement, so that nothing is measured before it is compiled; in milliseconds. */
  readonly warmMs: number
  /** Calls in one closed-loop measurement. */
  readonly calls: number
  /** One measurement at a fixed rate, in milliseconds. */
  readonly openMs: number
  /** How long after the burst memory is looked at, in milliseconds. */
  readonly calmMs: number
}

/** What a run of the bench was asked for. */
export interface BenchOptions {
  readonly suites: readonly SuiteName[]
  readonly durations: Durations
  /** A look, not a result: what takes long to start is left out. */
  readonly quick: boolean
  /** File that the whole result is written to as JSON. */
  readonly json: string | undefined
  /** The project whose gateway is measured: its `dist` where that is newer than the sources, else the sources. */
  readonly tree: string
  /** The sources, even where there is a `dist`. */
  readonly source: boolean
  /** The traffic of the suite `canary`. */
  readonly canary: CanaryModel
}

const full: Durations = { rounds: 5, roundMs: 4000, warmMs: 5000, calls: 3000, openMs: 15_000, calmMs: 60_000 }
const quick: Durations = { rounds: 3, roundMs: 1000, warmMs: 2000, calls: 500, openMs: 2000, calmMs: 10_000 }

/** How the bench is called. */
export const usage = `npm run bench [-- SUITE … --quick --json FILE --source --tree DIR --rounds N]
  SUITE   ${suiteNames.join(' ')} all (default: all)
  --quick short rounds: a look, not a result
  --json  also write everything that was measured to FILE
  --source measure the sources even where there is a dist
  --tree  measure the project in DIR instead of this one
  --rounds how often each subject is measured
${canaryUsage}`

/** Reads the command line. Throws a `TypeError` for what is not in {@link usage}. */
export function benchOptions(args: readonly string[]): BenchOptions {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      quick: { type: 'boolean', default: false },
      json: { type: 'string' },
      source: { type: 'boolean', default: false },
      tree: { type: 'string', default: resolve(import.meta.dirname, '../..') },
      rounds: { type: 'string' },
      ...canaryFlags,
    },
  })
  const durations = values.quick ? quick : full
  return {
    suites: suitesFrom(positionals),
    durations: { ...durations, rounds: Number(values.rounds ?? durations.rounds) },
    quick: values.quick,
    json: values.json,
    tree: resolve(values.tree),
    source: values.source,
    canary: canaryModel(values, values.quick),
  }
}

function suitesFrom(names: readonly string[]): readonly SuiteName[] {
  const unknown = names.find((name) => name !== 'all' && !suiteNames.includes(name as SuiteName))
  if (unknown !== undefined) throw new TypeError(`there is no suite "${unknown}"\n${usage}`)
  if (names.length === 0 || names.includes('all')) return suiteNames
  return suiteNames.filter((name) => names.includes(name))
}

/** What Node runs to serve: the built command line where it is newer than every source, else its source. */
export function entryPoint({ tree, source }: Pick<BenchOptions, 'tree' | 'source'>): string {
  const built = join(tree, 'dist/proxy/cli/foldgate.js')
  const useBuilt = !source && existsSync(built) && statSync(built).mtimeMs >= newestSource(tree)
  return useBuilt ? built : join(tree, 'proxy/cli/foldgate.ts')
}

function newestSource(tree: string): number {
  const files = ['proxy', 'plugins', 'config'].flatMap((room) =>
    readdirSync(join(tree, room), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
      .map((name) => statSync(join(tree, room, name)).mtimeMs),
  )
  return Math.max(...files)
}
