import type { VerifyingKey } from '../../../plugins/jws-key.ts'
import type { RunnerSettings } from '../../runner-settings.ts'
import type { Instance } from './instance.ts'
import { createRunnerGroup, type GroupParts } from './runner-group.ts'

/** The processes of all native runners of a configuration. */
export interface Instances {
  /** None for a runner that is not native, or whose name was not looked up yet. */
  of(runner: string): readonly Instance[]
  /** Of those that are reachable the one with the fewest calls under way, in turn where several have; undefined: none is reachable. */
  pick(runner: string): Instance | undefined
  /** Looks all names up again. Never rejects. */
  resolve(): Promise<void>
  /** Each process was tried once. Never rejects. */
  readonly ready: Promise<void>
  close(): Promise<void>
}

/** What the instances are made from. */
export interface InstancesParts extends Omit<GroupParts, 'ackKey'> {
  /** All runners; those that are not native are left out. */
  readonly runners: readonly RunnerSettings[]
  /** The public keys of their acknowledgements, by the runner's name, where contexts are signed with EdDSA. */
  readonly ackKeys: ReadonlyMap<string, VerifyingKey>
}

/** Begins to know the native runners of a configuration. Runners that are away are no error: they are tried again. */
export function createInstances({ runners, ackKeys, ...parts }: InstancesParts): Instances {
  const native = runners.filter(({ kind }) => kind === 'native')
  const groups = new Map(
    native.map((settings) => {
      const ackKey = ackKeys.get(settings.name)
      return [settings.name, createRunnerGroup(settings, { ...parts, ...(ackKey ? { ackKey } : {}) })]
    }),
  )
  const all = [...groups.values()]
  const of = (runner: string): readonly Instance[] => groups.get(runner)?.instances() ?? []
  let turn = 0
  return {
    of,
    pick(runner) {
      const reachable = of(runner).filter((instance) => instance.reachable)
      if (reachable.length < 2) return reachable[0]
      const fewest = Math.min(...reachable.map(({ underWay }) => underWay))
      const idlest = reachable.filter(({ underWay }) => underWay === fewest)
      return idlest[turn++ % idlest.length]
    },
    async resolve() {
      await Promise.all(all.map((group) => group.resolve()))
    },
    ready: Promise.all(all.map(({ ready }) => ready)).then(() => undefined),
    async close() {
      await Promise.all(all.map((group) => group.close()))
    },
  }
}
