import { describe, expect, it } from 'vitest'
import { createCall } from '../plugins/call.ts'
import { contextFactsFromCall } from '../plugins/context-call.ts'
import { layers } from '../plugins/index.ts'
import { type Layer, type NativeContract, type Probe, probeFor } from '../plugins/layer.ts'
import { type Acked, policyOf, type Rig, startRig, wellKnown } from './execution.support.ts'

const folding = (layers as readonly Layer[]).flatMap(({ name, native }) => (native ? [{ name, native }] : []))
const picked = (all: Readonly<Record<string, string>>, names: readonly string[]) =>
  Object.fromEntries(Object.entries(all).filter(([name]) => names.includes(name)))

/** Asks a runner of a probe as a gateway does on connecting. */
async function probed(rig: Rig, layer: { name: string; native: NativeContract }, raw: Probe): Promise<Acked> {
  const { name, native } = layer
  const probe = probeFor(raw, ['echo'])
  const { step, route = 'chat', headers = {}, now = 1_900_000_000_000, reads } = probe
  const caller = { id: 'probe', tenant: 'probe', tier: '', scopes: [], claims: {}, method: 'anonymous' } as const
  const body = Buffer.from(JSON.stringify(probe.body))
  const facts = { principal: { ...caller, ...probe.principal } }
  const { signal } = new AbortController()
  const call = createCall({ id: 'i', route, now, body, headers, facts, signal })
  const wishes = { principal: true, claims: native.claims?.(step) ?? [], headers: native.headers?.(step) ?? [] }
  return rig.chat(policyOf({ [name]: step }, route), probe.body as object, {
    path: `${wellKnown}/decide`,
    shadow: true,
    now,
    modes: { [name]: 'observe' },
    facts: contextFactsFromCall(call, wishes),
    credentials: picked(headers, native.credentials?.(step) ?? []),
    ...(reads ? { reads: { [name]: reads } } : {}),
  })
}

describe('the product’s layers, executed here', () => {
  it.each(folding.map((layer) => [layer.name, layer] as const))(
    '%s answers its probes as it should',
    async (_, layer) => {
      await using rig = await startRig({ execution: { layers } })
      expect(layer.native.probes.length).toBeGreaterThan(0)
      for (const probe of layer.native.probes) {
        const { acknowledged, text } = await probed(rig, layer, probe)
        if (!acknowledged.ok) expect.fail(`${probe.title}: ${acknowledged.mismatch} ${text}`)
        const { o, code } = acknowledged.acknowledgement.layers[layer.name] ?? {}
        expect({ title: probe.title, o, ...(code ? { code } : {}) }).toEqual({ title: probe.title, ...probe.expect })
      }
    },
  )
})
