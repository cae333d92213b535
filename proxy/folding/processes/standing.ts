import { gatewayErrorFrom } from '../../../plugins/errors.ts'
import type { Layer, Probe } from '../../../plugins/layer.ts'
import { later as onTimers } from '../later.ts'
import type { Contact } from './contact.ts'
import type { InstanceParts } from './instance-parts.ts'
import { probeFault } from './probing.ts'
import { passesBy } from './why-not.ts'

/** Probes that go on for as long as layers are folded. */
export interface StandingProbes {
  close(): void
}

/** How often one probe is asked by default, in milliseconds. */
const defaultEveryMs = 30_000

/**
 * Asks one probe at a time, in turn over all probes of the folded layers, and the next a while after the one before has ended. A layer that
 * fails is believed no more, until a handshake finds it good again.
 */
export function startStandingProbes(
  contact: Contact,
  { standing, later = onTimers, watch }: InstanceParts,
): StandingProbes {
  if (!standing) return { close() {} }
  const everyMs = standing.everyMs ?? defaultEveryMs
  let count = 0
  let closed = false
  const tick = async (): Promise<void> => {
    const all = probesOf(contact, standing.layers())
    const next = all[count++ % all.length]
    const failed = next && (await heldNow(contact, next))
    if (failed !== undefined && next) watch?.probeFailed?.(contact.runner, next.layer.name, failed)
    if (!closed) callOff = later(everyMs, () => void tick())
  }
  let callOff = later(everyMs, () => void tick())
  return {
    close() {
      closed = true
      callOff()
    },
  }
}

interface Standing {
  readonly layer: Layer
  readonly probe: Probe
}

/** What is not believed is tried by the next handshake, not here. */
function probesOf({ knowledge, layers, busy }: Contact, folded: readonly string[]): readonly Standing[] {
  if (busy || !knowledge.reached) return []
  return layers
    .filter(({ name }) => folded.includes(name) && knowledge.believes(name))
    .flatMap((layer) => (layer.native?.probes ?? []).map((probe) => ({ layer, probe })))
}

/** Asks one probe; why it failed, in words. A runner that is away, or another process by now, is greeted anew. */
async function heldNow(contact: Contact, { layer, probe }: Standing): Promise<string | undefined> {
  try {
    const why = await probeFault(layer, probe, contact.ground())
    contact.probed(layer.name, why)
    if (why) contact.knowledge.judge(layer.name, why)
    return why?.words
  } catch (reason) {
    if (passesBy(gatewayErrorFrom(reason))) void contact.refresh()
    return undefined
  }
}
