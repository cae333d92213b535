import { layers } from '../../plugins/index.ts'
import type { Acting, Layer } from '../../plugins/layer.ts'
import type { Stage } from '../../plugins/stage.ts'
import type { ShadowView } from '../../proxy/folding/shadow/shadow.ts'
import { createRandom } from '../support/random.ts'
import type { FoldingRig } from './folding-rig.ts'

/** Names of all layers, outermost first. */
export const layerNames: readonly string[] = layers.map(({ name }) => name)

/** One layer at this stage, and all further in at the runner. */
export function stagesWith(layer: string, stage: Stage): Record<string, Stage> {
  const inward = layerNames.slice(layerNames.indexOf(layer))
  return Object.fromEntries(inward.map((name) => [name, name === layer ? stage : 'native']))
}

/** What has been compared, once everything that was asked for is. */
export async function viewOf({ gateway }: FoldingRig, query = ''): Promise<ShadowView> {
  const { decides, shadow, copies } = gateway.setup().folding
  await decides.idle()
  await shadow.comparing.idle()
  await copies?.idle()
  const response = await fetch(`${gateway.adminUrl}/-/diffs${query}`)
  return (await response.json()) as ShadowView
}

/** The layers of a runner with a fault in the half of one: `plant` gets that half and gives the faulty one. */
export function faultyLayers(name: string, plant: (half: Acting) => Acting): readonly Layer[] {
  return (layers as readonly Layer[]).map((layer) => {
    const { native } = layer
    if (layer.name !== name || !native) return layer
    return { ...layer, native: { ...native, act: async (step, seat) => plant(await native.act(step, seat)) } }
  })
}

/** Calls of many kinds, good and bad, of both tenants and nobody, each answered to its end. Gives back their statuses. */
export async function mixedLoad(rig: FoldingRig, calls = 40): Promise<number[]> {
  const random = createRandom(20_26)
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T
  const statuses: number[] = []
  for (let index = 0; index < calls; index++) {
    const body = {
      ...pick(bodies),
      ...(random() < 0.3 ? { stream: true, stream_options: { include_usage: random() < 0.5 } } : {}),
    }
    const key = pick([rig.keys[0], rig.keys[0], rig.keys[1], rig.keys[1], 'nobody'])
    const response = await rig.chat(body, { authorization: `Bearer ${key}` })
    await response.text()
    statuses.push(response.status)
  }
  return statuses
}

const says = (content: string) => ({ messages: [{ role: 'user', content }] })
const bodies: readonly object[] = [
  {},
  says('write to a@example.com'),
  { ...says('other words'), temperature: 0.5, max_tokens: 2 },
  { ...says('so many words'), seed: 7, temperature: 0 },
  { model: 'gpt-4o' },
  { model: 'nobody-has-it' },
  { messages: 'no list' },
  { tools: [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }] },
  { ...says('Ünïcödé 漢字 🙂'), user: 'somebody' },
  {
    messages: [
      { role: 'system', content: 'be brief' },
      ...says('a longer talk').messages,
      { role: 'assistant', content: 'yes' },
      ...says('go on').messages,
    ],
  },
]
