import type { Fact } from './call.ts'

/** What of a layer decides where it may sit: its name and what it declares. */
export interface Flowing {
  readonly name: string
  readonly reads: readonly Fact[]
  readonly writes: readonly Fact[]
  readonly answers: boolean
  readonly rewrites: boolean
}

/** Facts that the server itself writes, before any layer. */
export const serverFacts: readonly Fact[] = ['client_ip']

/** Says for each fact that is read before its writer has spoken, or written twice, what is wrong; empty when the order holds. */
export function orderFaults(layers: readonly Flowing[]): string[] {
  const faults: string[] = []
  const writer = new Map<Fact, string>(serverFacts.map((fact) => [fact, 'the server']))
  for (const layer of layers) {
    for (const fact of layer.reads) {
      const late = layers.find((other) => other.writes.includes(fact))
      if (!writer.has(fact) && late) faults.push(`${layer.name} reads ${fact} before ${late.name} writes it`)
    }
    for (const fact of layer.writes) {
      const first = writer.get(fact)
      if (first) faults.push(`${layer.name} writes ${fact}, which ${first} writes already`)
      else writer.set(fact, layer.name)
    }
  }
  return faults
}

/** Whether a set of layers may decide at the runner, and if not, why, in words. */
export type Foldable = { readonly ok: true } | { readonly ok: false; readonly why: string }

/**
 * Whether exactly the layers named in `folded` may decide at the runner. It is legal only if no layer that stays in the gateway
 * inside one of them reads a fact that it writes, may answer, or rewrites the request. `layers` is the route's list, outermost first.
 */
export function foldable(layers: readonly Flowing[], folded: ReadonlySet<string>): Foldable {
  for (const [index, outer] of layers.entries()) {
    if (!folded.has(outer.name)) continue
    for (const inner of layers.slice(index + 1)) {
      if (folded.has(inner.name)) continue
      const why = whyNot(outer, inner)
      if (why) return { ok: false, why }
    }
  }
  return { ok: true }
}

function whyNot(outer: Flowing, inner: Flowing): string | undefined {
  const fact = inner.reads.find((each) => outer.writes.includes(each))
  if (fact)
    return `${outer.name} cannot move while ${inner.name} stays: ${inner.name} reads ${fact}, which ${outer.name} writes`
  if (inner.answers)
    return `${outer.name} cannot move while ${inner.name} stays: ${inner.name} could answer before ${outer.name} has spoken`
  if (inner.rewrites)
    return `${outer.name} cannot move while ${inner.name} stays: ${inner.name} rewrites what ${outer.name} must judge`
  return undefined
}
