import type { Subject } from './measure.ts'
import type { ProcessPlan, Rig, RunningProxy } from './rig.ts'

/** One way of using the gateway, by itself: what is in it, and what it is asked. */
export interface Case {
  readonly layers: boolean
  readonly stream: boolean
  readonly unique: boolean
  /** Every layer at the runner, which is scripted: what is measured is the gateway. */
  readonly folded?: boolean
  /** The bare proxy instead of the gateway. */
  readonly bare?: boolean
  /** Streams of 100 tokens, each by itself, instead of a flood. */
  readonly paced?: boolean
}

/** The cases that can be profiled and compared, by name. */
export const cases: Readonly<Record<string, Case>> = {
  bare: { layers: false, stream: false, unique: true, bare: true },
  none: { layers: false, stream: false, unique: true },
  six: { layers: true, stream: false, unique: true },
  hit: { layers: true, stream: false, unique: false },
  folded: { layers: true, stream: false, unique: true, folded: true },
  spliced: { layers: false, stream: true, unique: true },
  stream: { layers: true, stream: true, unique: true },
  tokens: { layers: false, stream: true, unique: true, paced: true },
  'tokens-six': { layers: true, stream: true, unique: true, paced: true },
}

/** The case of that name. Throws a `TypeError` when there is none. */
export function caseNamed(name: string): Case {
  const found = cases[name]
  if (!found) throw new TypeError(`there is no case "${name}": ${Object.keys(cases).join(' ')}`)
  return found
}

/** A case that runs: its process, and how it is asked. */
export interface RunningCase {
  readonly proxy: RunningProxy
  readonly subject: Subject & { readonly pid: number }
  /** What a saturated measurement of it is made with. */
  readonly load: { readonly bodyBytes: number; readonly stream: boolean; readonly connections: number }
}

/** Starts the process of a case; `name` is how its subject is called. */
export async function startCase(rig: Rig, name: string, plan: ProcessPlan & { case: Case }): Promise<RunningCase> {
  const { layers, stream, unique, bare, paced, folded } = plan.case
  const streaming = paced ? rig.upstream.paced : rig.upstream.flood
  const runner = folded ? await rig.scriptedRunner() : undefined
  const upstream = runner?.port ?? (stream ? streaming : rig.upstream.json)
  const sections = layers ? rig.layers.all : {}
  const native = runner ? { native: runner.keyFile } : {}
  const proxy = await (bare ? rig.bare(plan) : rig.gateway({ ...plan, ...native, layers: sections, upstream }))
  const { port, pid } = proxy
  return {
    proxy,
    subject: { name, port, pid, unique, ...(layers ? { token: rig.layers.token } : {}) },
    load: { bodyBytes: 5 * 1024, stream, connections: paced ? 512 : stream ? 96 : 64 },
  }
}
