import type { GatewayConfig } from '../config/schema.ts'
import type { Directives } from '../plugins/directives.ts'
import type { FoldSource, Host, Seat } from '../plugins/host.ts'
import type { Acting, Layer } from '../plugins/layer.ts'
import { createTightened, type Tightened } from '../plugins/tightened.ts'
import { createFoldSource } from './folding/policies.ts'

/** The layers that callers may ask more of, by name. */
export type Tightening = ReadonlyMap<string, Tightened>

/**
 * Lets the directives of callers choose stricter rules for the layers that are on, in their order: puts itself in place of each in `acting`.
 * Layers that cannot be tightened stay as they are.
 */
export function openTightening(
  { layers: sections, directives }: Pick<GatewayConfig, 'layers' | 'directives'>,
  acting: Map<string, Acting>,
  { layers, host }: { readonly layers: readonly Layer[]; readonly host: Host },
): Tightening {
  const tightened = new Map<string, Tightened>()
  if (!directives.enabled) return tightened
  for (const layer of layers) {
    const base = acting.get(layer.name)
    const { native, tighten, fold } = layer
    if (!base || !native || !tighten || !fold) continue
    const paths = new Map<string, string>()
    const source = recording(createFoldSource(host, directives), paths)
    const seat = seatOver(host, paths)
    const made = createTightened({
      base,
      step: fold(sections[layer.name], source),
      tighten,
      act: (step) => native.act(step, seat),
    })
    tightened.set(layer.name, made)
    acting.set(layer.name, joined(base, made))
  }
  return tightened
}

/** What else the layer offers stays, and what it never did costs nothing. */
function joined(base: Acting, made: Tightened): Acting {
  const { settle, reads, notes, ruleFor, buffers, ...always } = made
  return {
    ...base,
    ...always,
    ...(base.settle && settle ? { settle } : {}),
    ...(base.reads && reads ? { reads } : {}),
    ...(base.notes && notes ? { notes } : {}),
    ...(base.ruleFor && ruleFor ? { ruleFor } : {}),
    ...(base.buffers && buffers ? { buffers } : {}),
  }
}

function recording(source: FoldSource, paths: Map<string, string>): FoldSource {
  return {
    ...source,
    secret(path) {
      const bare = source.secret(path)
      paths.set(bare, path)
      return bare
    },
  }
}

/** The gateway's own doors for a step: a secret's bare name leads to the file that the configuration names. */
function seatOver(host: Host, paths: ReadonlyMap<string, string>): Seat {
  return { ...host, file: (name) => host.file(paths.get(name) ?? name), allows: () => true, has: () => true }
}

/** Makes every rule ready that directives ask for. Throws `invalid_request` naming the directive that is wrong. */
export async function readyFor(directives: Directives, tightening: Tightening): Promise<void> {
  await Promise.all([...tightening.values()].map((each) => each.ready(directives)))
}
