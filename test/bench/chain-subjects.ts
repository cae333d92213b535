import type { Redis } from '../support/redis.ts'
import { createChainCaller } from './chain/caller.ts'
import type { ChainPlaces } from './chain/places.ts'
import { startChain } from './chain/start.ts'
import { type ChainEngine, startChainEngine } from './chain/start-engine.ts'
import { startFolded } from './chain-folded.ts'
import type { ChainSubject } from './chain-load.ts'
import type { Rig } from './rig.ts'

/** What the suite `chain` compares. */
export interface ChainSubjects extends AsyncDisposable {
  readonly engine: ChainEngine
  /** All that could be started, the engine alone first. */
  readonly all: readonly ChainSubject[]
  /** Why others could not be, in words, by their names. */
  readonly missing: Readonly<Record<string, string>>
}

/** How the subjects are called. */
export const chainNames = {
  engine: 'engine alone',
  chain: 'classic chain',
  lean: 'chain, fewest parses',
  unfolded: 'Foldgate unfolded',
  folded: 'Foldgate folded',
  alone: 'folded, no Redis',
  bare: 'a bare Node proxy',
  runner: 'native runner alone',
} as const

type Started = ChainSubject | string

/** Starts everything in front of one engine, with one Redis. */
export async function startChainSubjects(rig: Rig, redis: Redis): Promise<ChainSubjects> {
  await using starting = new AsyncDisposableStack()
  const engine = starting.use(await startChainEngine())
  const direct: ChainSubject = { name: chainNames.engine, port: engine.port, unique: true, pids: [] }
  const parts = { rig, redis, engine, stack: starting }
  const chains = await classicChains(parts)
  const unfolded = await startUnfolded(parts)
  const folded = await startFolded({
    rig,
    names: chainNames,
    engine: engine.port,
    redis: redis.url,
    stack: starting,
  })
  const foldedPair: [string, Started][] =
    typeof folded === 'string'
      ? [[chainNames.folded, folded]]
      : [folded.folded, folded.runner].map((each) => [each.name, each])
  const found: readonly [string, Started][] = [
    ...chains,
    [chainNames.unfolded, unfolded],
    ...foldedPair,
    [chainNames.alone, await startAlone(parts)],
    [chainNames.bare, await startBare(parts)],
  ]
  const stack = starting.move()
  return {
    engine,
    all: [direct, ...found.flatMap(([, each]) => (typeof each === 'string' ? [] : [each]))],
    missing: Object.fromEntries(found.flatMap(([name, each]) => (typeof each === 'string' ? [[name, each]] : []))),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

interface Parts {
  readonly rig: Rig
  readonly redis: Redis
  readonly engine: ChainEngine
  readonly stack: AsyncDisposableStack
}

const leftOut = 'left out by --quick'

async function classicChains({ rig, redis, engine, stack }: Parts): Promise<[string, Started][]> {
  const caller = stack.use(await createChainCaller(redis))
  const { token, keySet, issuer, audience } = caller
  const start = async (name: string, bodies: ChainPlaces['bodies']): Promise<[string, Started]> => {
    const next = `http://127.0.0.1:${engine.port}`
    const places = {
      next,
      redis: redis.url,
      jwks: keySet.url,
      issuer,
      audience,
      bodies,
      tokensPerMinute: 10_000_000_000,
    }
    const { port, pids } = stack.use(await startChain(places))
    return [name, { name, port, pids, token, unique: true }]
  }
  const classic = await start(chainNames.chain, 'each')
  return [classic, rig.options.quick ? [chainNames.lean, leftOut] : await start(chainNames.lean, 'needed')]
}

/** One runner needs no store that is shared: what it keeps is where the engine is. */
async function startAlone({ rig, engine, stack }: Parts): Promise<Started> {
  const names = { folded: chainNames.alone, runner: chainNames.runner }
  const started = await startFolded({ rig, names, engine: engine.port, stack })
  return typeof started === 'string' ? started : started.folded
}

/** One hop of which nothing is a layer's: no proxy in Node can cost less. */
async function startBare({ rig, engine }: Parts): Promise<ChainSubject> {
  const { port, pid } = await rig.bare({ upstream: engine.port })
  return { name: chainNames.bare, port, unique: true, pids: [pid] }
}

async function startUnfolded({ rig, redis, engine }: Parts): Promise<ChainSubject> {
  const { all, authOnRedis, token } = rig.layers
  const layers = { ...all, auth: authOnRedis }
  const { port, pid } = await rig.gateway({ layers, upstream: engine.port, redis: redis.url })
  return { name: chainNames.unfolded, port, token, unique: true, pids: [pid] }
}
