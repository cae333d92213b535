import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it } from 'vitest'
import type { EvidenceView } from '../../proxy/admin/operations.ts'
import { armTotals } from '../../proxy/folding/rollout/evidence.ts'
import { until } from '../support/gate.ts'
import { allNative, type FoldingRig, startFoldingRig } from './folding-rig.ts'

const half = { folding: { policy: { stages: [50, 100], tiers: [] } } }
const rate = (rig: FoldingRig, key: string | undefined, body: object) =>
  fetch(`${rig.gateway.url}/v1/feedback`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(key ? { authorization: `Bearer ${key}` } : {}) },
    body: JSON.stringify(body),
  })
const answersOf = async (rig: FoldingRig) => {
  const view = (await (await fetch(`${rig.gateway.adminUrl}/-/evidence`)).json()) as EvidenceView
  const { canary, control } = armTotals(view.layers['postprocess']?.evidence.cells ?? [])
  return [canary.answers, control.answers] as const
}

async function asked(rig: FoldingRig, conversation: string, body: object = {}): Promise<string> {
  const response = await rig.chat({ ...body }, { 'x-conversation-id': conversation })
  await response.text()
  return response.headers.get('x-request-id') ?? ''
}

it.each([
  ['in the gateway', {}],
  ['at the runner', allNative],
])('with auth %s only who made a call may say what it thinks of it', async (_, stages) => {
  await using rig = await startFoldingRig({ stages, layers: { cache: undefined } })
  const id = await asked(rig, 'c1')
  expect((await rate(rig, rig.keys[1], { id, score: -1 })).status).toBe(404)
  expect((await rate(rig, undefined, { id, score: -1 })).status).toBe(401)
  expect((await rate(rig, rig.keys[0], { id: 'another', score: -1 })).status).toBe(404)
  for (const body of [{ id }, { id, score: 2 }, { id, score: 'meh' }, { id, score: 1, more: 1 }])
    expect((await rate(rig, rig.keys[0], body)).status).toBe(400)
  for (const score of [0.5, 'up', 'down']) expect((await rate(rig, rig.keys[0], { id, score })).status).toBe(202)
  const story = await (await fetch(`${rig.gateway.adminUrl}/-/explain?id=${id}`)).json()
  expect(story).toMatchObject({ feedback: -1 })
  expect(JSON.stringify(story)).not.toContain('"who"')
})

it('what callers think, and how answers end, is evidence for the arm that the call was drawn into', async () => {
  await using rig = await startFoldingRig({
    stages: { postprocess: 'canary' },
    layers: { cache: undefined },
    config: half,
  })
  const ids: string[] = []
  for (let n = 0; n < 12; n++) ids.push(await asked(rig, `c${n}`, n % 2 === 0 ? { max_tokens: 1 } : {}))
  for (const [n, id] of ids.entries()) {
    expect((await rate(rig, rig.keys[0], { id, score: n < 6 ? 'down' : 'up' })).status).toBe(202)
    // A second word changes the story, and is no second piece of evidence.
    await rate(rig, rig.keys[0], { id, score: -0.5 })
  }
  const sum = async (name: 'looked' | 'rated' | 'disliked' | 'cut'): Promise<number> =>
    (await answersOf(rig)).reduce((all, each) => all + (each[name] ?? 0), 0)
  await until(async () => (await sum('rated')) === 12, 'all were heard', 10_000)
  expect([await sum('looked'), await sum('disliked'), await sum('cut')]).toEqual([12, 6, 6])
  const [canary, control] = await answersOf(rig)
  expect(Math.min(canary.looked ?? 0, control.looked ?? 0)).toBeGreaterThan(0)
  expect([canary.rated, control.rated]).toEqual([canary.looked, control.looked])
}, 30_000)

it('a scorer that the cache is configured with is asked about answers of the rollout, and its verdict is evidence', async () => {
  const heard: { request?: object; completion?: { choices?: object[] } }[] = []
  const server = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      heard.push(JSON.parse(Buffer.concat(parts).toString()))
      response.end('{"score":0.2}')
    })
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  try {
    const scorer = { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` }
    await using rig = await startFoldingRig({
      stages: { postprocess: 'canary' },
      layers: { cache: { ttl_seconds: 300, output_validation: { quality_score: { min: 0.5, scorer } } } },
      config: half,
    })
    // Not stored, for its temperature: only the rollout asks.
    await asked(rig, 'c1', { temperature: 0.5, stream: true })
    const sum = async (name: 'scored' | 'poor'): Promise<number> =>
      (await answersOf(rig)).reduce((all, each) => all + (each[name] ?? 0), 0)
    await until(async () => (await sum('scored')) === 1, 'it was scored', 10_000)
    expect(await sum('poor')).toBe(1)
    expect(heard[0]).toMatchObject({ request: { model: 'echo' }, completion: { choices: [{ index: 0 }] } })
  } finally {
    server.close()
  }
}, 30_000)
