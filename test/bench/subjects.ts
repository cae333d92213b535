import type { Subject } from './measure.ts'
import type { Rig } from './rig.ts'

/** What suites compare: a gateway without layers, one with all of them, and nginx where it is installed. */
export interface Subjects {
  /** The upstream itself. */
  readonly direct: Subject
  readonly none: Subject
  /** All layers, bodies all different: the cache misses. */
  readonly six: Subject
  /** All layers, bodies all equal: the cache answers. */
  readonly hit: Subject
  /** All layers at the runner: the body is spliced, the context signed. Absent where the upstream streams. */
  readonly folded: readonly Subject[]
  /** The runner that those are in front of, asked directly. */
  readonly runner: readonly Subject[]
  readonly nginx: readonly Subject[]
  /** node:http and undici and nothing else; absent where the upstream streams. */
  readonly bare: readonly Subject[]
  readonly layerCount: number
}

const started = new WeakMap<Rig, Map<number, Promise<Subjects>>>()

/** Starts them, or gives back those that were started before for that port of the upstream. */
export function subjectsFor(rig: Rig, upstream: number): Promise<Subjects> {
  const known = started.get(rig) ?? new Map<number, Promise<Subjects>>()
  started.set(rig, known)
  const subjects = known.get(upstream) ?? start(rig, upstream)
  known.set(upstream, subjects)
  return subjects
}

async function start(rig: Rig, upstream: number): Promise<Subjects> {
  const { all, token } = rig.layers
  const none = await rig.gateway({ layers: {}, upstream })
  const six = await rig.gateway({ layers: all, upstream })
  const plain = upstream === rig.upstream.json
  const nginx = plain ? await rig.nginx() : undefined
  const runner = plain ? await rig.scriptedRunner() : undefined
  const folded = runner && (await rig.gateway({ layers: all, upstream: runner.port, native: runner.keyFile }))
  const bare = plain ? [await rig.bare()] : []
  return {
    direct: { name: 'direct', port: upstream },
    none: { name: 'no layer', port: none.port, pid: none.pid, unique: true },
    six: { name: 'six layers', port: six.port, pid: six.pid, token, unique: true },
    hit: { name: 'cache hit', port: six.port, pid: six.pid, token },
    folded: folded ? [{ name: 'six folded', port: folded.port, pid: folded.pid, token, unique: true }] : [],
    runner: runner ? [{ name: 'runner alone', port: runner.port, unique: true }] : [],
    nginx: nginx
      ? [
          { name: nginxPlain, port: nginx.plain, pid: nginx.pid, unique: true },
          { name: nginxKept, port: nginx.kept, pid: nginx.pid, unique: true },
        ]
      : [],
    bare: bare.map(({ port, pid }) => ({ port, pid, name: 'bare Node proxy', unique: true })),
    layerCount: Object.keys(all).length,
  }
}

/** Names of the two ways in which nginx is measured. */
export const nginxPlain = 'nginx as it comes'
export const nginxKept = 'nginx, upstream kept alive'
