import type { Redis } from '../support/redis.ts'
import { cases, startCase } from './cases.ts'
import { createChainCaller } from './chain/caller.ts'
import type { ChainPlaces } from './chain/places.ts'
import { startChain } from './chain/start.ts'
import { type ChainEngine, startChainEngine } from './chain/start-engine.ts'
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
} as const

/** The case that has all layers folded; a tree that cannot fold does not have it. */
const foldedCase = 'six-native'

type Started = ChainSubject | string

/** Starts everything in front of one engine, with one Redis. */
export async function startChainSubjects(rig: Rig, redis: Redis): Promise<ChainSubjects> {
  await using starting = new AsyncDisposableStack()
  const engine = starting.use(await startChainEngine())
  const direct: ChainSubject = { name: chainNames.engine, port: engine.port, unique: true, pids: [] }
  const parts = { rig, redis, engine, stack: starting }
  const chains = await classicChains(parts)
  const unfolded = await foldgate(parts, chainNames.unfolded, 'six')
  const folded = await foldgate(parts, chainNames.folded, foldedCase)
  const found: readonly [string, Started][] = [...chains, [chainNames.unfolded, unfolded], [chainNames.folded, folded]]
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

async function foldgate({ rig, redis, engine }: Parts, name: string, caseName: string): Promise<Started> {
  const found = cases[caseName]
  if (!found) return `not available: there is no case ${caseName} to start`
  const plan = { case: found, upstream: engine.port, redis: redis.url }
  const { subject, pids = [subject.pid] } = await startCase(rig, name, plan)
  return { ...subject, pids }
}
