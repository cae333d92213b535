import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { createApiKey } from '../../plugins/auth/api-key.ts'
import type { EvidenceView } from '../../proxy/admin/operations.ts'
import { allNative, type FoldingRig, layerStates, startFoldingRig } from './folding-rig.ts'

const tenants = Array.from({ length: 40 }, (_, index) => ({ tenant: `t${index}`, key: createApiKey().key }))
const auth = {
  apiKeys: tenants.map(({ tenant, key }, index) => ({
    id: tenant,
    hash: createHash('sha256').update(key).digest('hex'),
    tenant,
    scopes: index === 0 ? ['steer'] : [],
  })),
}
const inner = { postprocess: 'native', prompt: 'native', routing: 'native' } as const

let asked = 0
async function stateFor(
  rig: FoldingRig,
  key: string,
  layer: string,
  headers: Record<string, string> = {},
): Promise<string> {
  const response = await rig.chat(
    { messages: [{ role: 'user', content: `question ${asked++}` }] },
    { authorization: `Bearer ${key}`, ...headers },
  )
  await response.text()
  expect(response.status).toBe(200)
  return layerStates(response)[layer] ?? ''
}

describe('a canary', () => {
  it('draws whole tenants, and each stays where it was drawn', async () => {
    await using rig = await startFoldingRig({
      stages: { ...inner, cache: 'canary' },
      layers: { auth },
      config: { folding: { policy: { stages: [50, 100] } } },
    })
    const sides = new Map<string, Set<string>>()
    for (let turn = 0; turn < 3; turn++) {
      for (const { tenant, key } of tenants) {
        const seen = sides.get(tenant) ?? new Set()
        sides.set(tenant, seen.add(await stateFor(rig, key, 'cache')))
      }
    }
    expect([...sides.values()].every((each) => each.size === 1)).toBe(true)
    const all = [...sides.values()].flatMap((each) => [...each])
    expect(new Set(all)).toEqual(new Set(['evaporation-accelerating;by=runner', 'evaporation-started;by=gateway']))
    const proving = all.filter((each) => each.startsWith('evaporation-accelerating')).length
    // Forty tenants at one half: five standard deviations.
    expect(Math.abs(proving - 20)).toBeLessThan(16)
  })

  it('has no tenant that is never to be in one, at whatever share, and counts it for neither side', async () => {
    await using rig = await startFoldingRig({
      stages: { ...inner, cache: 'canary' },
      layers: { auth },
      config: { folding: { policy: { stages: [100], tiers: [], neverCanary: ['t1', 't2'] } } },
    })
    const states: string[] = []
    for (const { key } of tenants.slice(0, 6)) states.push(await stateFor(rig, key, 'cache'))
    const here = 'evaporation-started;by=gateway'
    expect(states.slice(1, 3)).toEqual([here, here])
    expect(states.filter((state) => state === here)).toHaveLength(2)
    const { layers } = (await (await fetch(`${rig.gateway.adminUrl}/-/evidence`)).json()) as EvidenceView
    const assigned = layers['cache']?.evidence.cells.map(({ control }) => control.assigned) ?? []
    expect(assigned.every((count) => count === 0)).toBe(true)
  })

  it('of auth is drawn by the tenant that auth itself finds', async () => {
    const native = { ...inner, cache: 'native', 'rate-limit': 'native' } as const
    await using rig = await startFoldingRig({
      stages: { ...native, auth: 'canary' },
      layers: { auth },
      config: { folding: { policy: { stages: [50, 100] } } },
    })
    const states = new Set<string>()
    for (const { key } of tenants) states.add(await stateFor(rig, key, 'auth'))
    expect(states).toEqual(new Set(['evaporation-accelerating;by=runner', 'evaporation-started;by=gateway']))
    const refused = await rig.chat({}, { authorization: 'Bearer nobody' })
    expect(refused.status).toBe(401)
  })

  it('of a layer further in knows the tenant although auth is native', async () => {
    await using rig = await startFoldingRig({ stages: allNative, layers: { auth } })
    await rig.move('postprocess', 'rollback')
    // The closure took auth along: back out it goes, and postprocess starts anew.
    expect(await stateFor(rig, tenants[1]?.key ?? '', 'auth')).toBe('active;by=gateway')
    expect(await stateFor(rig, tenants[1]?.key ?? '', 'cache')).toBe('evaporation-complete;by=runner')
  })

  it('lets those who may choose a side, and nobody else', async () => {
    await using rig = await startFoldingRig({
      stages: { ...inner, cache: 'canary' },
      layers: { auth },
      config: { access: { overrideScope: 'steer' } },
    })
    const [steering, other] = tenants as [(typeof tenants)[0], (typeof tenants)[0]]
    const runner = { 'x-foldgate-override': 'cache=runner' }
    const gateway = { 'x-foldgate-override': 'cache=gateway' }
    expect(await stateFor(rig, steering.key, 'cache', runner)).toBe('evaporation-accelerating;by=runner')
    expect(await stateFor(rig, steering.key, 'cache', gateway)).toBe('evaporation-started;by=gateway')
    const drawn = await stateFor(rig, other.key, 'cache')
    expect(await stateFor(rig, other.key, 'cache', runner)).toBe(drawn)
    expect(await stateFor(rig, other.key, 'cache', gateway)).toBe(drawn)
  })
})

describe('other routes', () => {
  const post = (rig: FoldingRig, path: string, body: object): Promise<Response> =>
    fetch(`${rig.gateway.url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${rig.keys[0]}` },
      body: JSON.stringify(body),
    })

  it('messages are translated in the gateway, whole and streamed, around folded layers', async () => {
    await using rig = await startFoldingRig({ stages: allNative })
    const body = { model: 'echo', max_tokens: 20, messages: [{ role: 'user', content: 'write to ada@example.com' }] }
    const whole = await post(rig, '/v1/messages', body)
    expect(await whole.json()).toMatchObject({ type: 'message', content: [{ text: 'write to [redacted email]' }] })
    expect(layerStates(whole)).toMatchObject({ prompt: 'evaporation-complete;by=runner' })
    const text = await (await post(rig, '/v1/messages', { ...body, stream: true })).text()
    expect(text).toContain('event: message_stop')
    expect(text).not.toContain('ada@example.com')
  })

  it('a refusal of a folded layer is said in the dialect of messages', async () => {
    await using rig = await startFoldingRig({
      stages: allNative,
      layers: { auth: { apiKeys: auth.apiKeys.slice(0, 1) } },
    })
    const response = await post(rig, '/v1/messages', {
      model: 'echo',
      max_tokens: 5,
      messages: [{ role: 'user', content: 'x' }],
    })
    expect([response.status, await response.json()]).toMatchObject([
      401,
      { type: 'error', error: { type: 'authentication_error' } },
    ])
  })

  it('embeddings fold what applies to them', async () => {
    await using rig = await startFoldingRig({ stages: allNative })
    const response = await post(rig, '/v1/embeddings', { model: 'echo', input: 'cats' })
    expect(response.status).toBe(200)
    expect(layerStates(response)).toMatchObject({
      routing: 'evaporation-complete;by=runner',
      prompt: 'evaporation-bypassed;by=none',
      postprocess: 'evaporation-bypassed;by=none',
    })
  })

  it('lists of models stay in the gateway', async () => {
    await using rig = await startFoldingRig({ stages: allNative })
    const response = await fetch(`${rig.gateway.url}/v1/models`, {
      headers: { authorization: `Bearer ${rig.keys[0]}` },
    })
    expect([response.status, layerStates(response)['auth']]).toEqual([200, 'active;by=gateway'])
  })
})
