import { gatewayErrorFrom } from '../../../plugins/errors.ts'
import { type Line, openLine } from '../../line.ts'
import type { RunnerSettings } from '../../runner-settings.ts'
import { createBackOff, later as onTimers } from '../later.ts'
import { type Lookup, nameIn, systemLookup } from './addresses.ts'
import { createInstance, type Instance } from './instance.ts'
import type { InstanceParts } from './instance-parts.ts'

/** The processes of one runner: one for each address of its name. */
export interface RunnerGroup {
  /** Each process once, also where two addresses lead to it. */
  instances(): readonly Instance[]
  /** Looks the name up again. Never rejects. */
  resolve(): Promise<void>
  /** The name was looked up, and each process was tried. Never rejects. */
  readonly ready: Promise<void>
  close(): Promise<void>
}

/** What a group is made from beside its runner. */
export interface GroupParts extends Omit<InstanceParts, 'alone'> {
  readonly lookup?: Lookup
  /** How often names are looked up again, in milliseconds; default 30,000. */
  readonly resolveEveryMs?: number
}

interface State {
  readonly settings: RunnerSettings
  readonly parts: GroupParts
  /** By address; by the empty text where there is no name to look up. */
  readonly instances: Map<string, Instance>
  /** Lines that are open, also those whose last calls are still ending. */
  readonly lines: Set<Line>
  closed: boolean
}

/** Begins to know the processes of a runner. */
export function createRunnerGroup(settings: RunnerSettings, parts: GroupParts): RunnerGroup {
  const state: State = { settings, parts, instances: new Map(), lines: new Set(), closed: false }
  const name = nameIn(settings.url)
  const looking = name === undefined ? undefined : startLooking(state, name)
  if (!looking) add(state, '')
  const first = looking?.resolve() ?? Promise.resolve()
  return {
    instances: () => distinct(state),
    resolve: () => looking?.resolve() ?? Promise.resolve(),
    ready: first.then(async () => {
      await Promise.all([...state.instances.values()].map(({ ready }) => ready))
    }),
    async close() {
      state.closed = true
      looking?.close()
      for (const instance of state.instances.values()) instance.close()
      await Promise.all([...state.lines].map(({ pool }) => pool.destroy()))
    },
  }
}

/** Looks a name up, again and again; sooner after a failure. What was found before stays while nothing is found. */
function startLooking(state: State, name: string): { resolve(): Promise<void>; close(): void } {
  const { lookup = systemLookup, later = onTimers, resolveEveryMs = 30_000, host } = state.parts
  const backOff = createBackOff(Math.min(1_000, resolveEveryMs), resolveEveryMs)
  let callOff = (): void => {}
  let going: Promise<void> | undefined
  const look = async (): Promise<void> => {
    callOff()
    let wait = resolveEveryMs
    try {
      const addresses = await lookup(name)
      if (!state.closed && addresses.length > 0) take(state, addresses)
      backOff.reset()
    } catch (reason) {
      wait = backOff.next()
      const { cause } = gatewayErrorFrom(reason)
      host.log.warn({ runner: state.settings.name, why: String(cause) }, 'the name of the runner cannot be looked up')
    }
    going = undefined
    if (!state.closed) callOff = later(wait, () => void resolve())
  }
  const resolve = (): Promise<void> => {
    going ??= look()
    return going
  }
  return { resolve, close: () => callOff() }
}

function take(state: State, addresses: readonly string[]): void {
  for (const address of addresses) if (!state.instances.has(address)) add(state, address)
  for (const [address, instance] of state.instances) if (!addresses.includes(address)) retire(state, address, instance)
}

function add(state: State, address: string): void {
  const line = openLine(state.settings, address || undefined)
  state.lines.add(line)
  state.instances.set(
    address,
    createInstance(line, { ...state.parts, alone: () => state.instances.size < 2 || distinct(state).length < 2 }),
  )
}

/** An address that is no longer the runner's gets no further calls; those under way end. */
function retire(state: State, address: string, instance: Instance): void {
  state.instances.delete(address)
  instance.close()
  void instance.line.pool
    .close()
    .catch(() => undefined)
    .then(() => state.lines.delete(instance.line))
}

function distinct({ instances }: State): readonly Instance[] {
  const all = [...instances.values()]
  if (all.length < 2) return all
  const boots = all.map(({ capabilities }) => capabilities?.boot)
  return all.filter((_, index) => boots[index] === undefined || boots.indexOf(boots[index]) === index)
}
