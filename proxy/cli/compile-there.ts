import type { LayerView } from '../admin/layer-view.ts'
import type { AdminClient } from './admin-client.ts'
import type { CompiledRoute, Found } from './compiled.ts'
import { askAll } from './replicas.ts'
import type { Io } from './verb.ts'

/** What the runner processes of running gateways have reported. */
export interface Reported {
  /** By layer. */
  readonly found: ReadonlyMap<string, readonly Found[]>
  /** Why not everything is known, in words; empty when it is. */
  readonly open: readonly string[]
}

/**
 * Asks gateways what their runner processes have reported on the rules of these policies. A gateway that runs others, and a process that
 * was not given them, say nothing about these.
 */
export async function reportedThere(
  admins: readonly AdminClient[],
  routes: readonly CompiledRoute[],
  io: Io,
): Promise<Reported> {
  const { told, missed } = await askAll(admins, (admin) => admin.get<{ layers: LayerView[] }>('/-/layers'), io)
  const found = new Map<string, Found[]>()
  const open = missed.map(({ admin }) => `${admin} did not answer`)
  for (const { admin, value } of told) {
    const own = value.layers.filter(({ name }) => routes.some(({ steps }) => steps.some(({ layer }) => layer === name)))
    const other = own.map((layer) => otherPolicy(layer, routes)).find((route) => route !== undefined)
    if (other !== undefined) open.push(`${admin} runs another configuration: its policy of ${other} is not this one`)
    else for (const layer of own) take(layer, admin, { found, open })
  }
  return { found, open }
}

/** The route of a layer for which the gateway has another policy, or none; undefined when it has the same. */
function otherPolicy({ name, policies }: LayerView, routes: readonly CompiledRoute[]): string | undefined {
  const named = routes.filter(({ steps }) => steps.some(({ layer }) => layer === name))
  return named.find(({ digest }) => !policies.some((policy) => policy.digest === digest))?.route
}

interface Into {
  readonly found: Map<string, Found[]>
  readonly open: string[]
}

function take({ name, processes }: LayerView, admin: string, { found, open }: Into): void {
  if (processes.length === 0) open.push(`${admin} knows no process that executes layers`)
  for (const { runner, address, report, why } of processes) {
    const by = `${runner} ${address}`
    if (report) found.set(name, [...(found.get(name) ?? []), { by, ...report }])
    else open.push(`${by} has not reported on ${name}${why === undefined ? '' : `: ${why}`}`)
  }
}
