import { expect, test } from 'vitest'
import { startTestGateway } from '../test/support/gateway.ts'
import { failOnLeaks } from '../test/support/leaks.ts'
import type { LayerStory, LayerView } from './admin/layer-view.ts'
import type { StatusView } from './admin/operations.ts'
import type { ChangeView, StageOutcome } from './admin/stage-view.ts'
import type { CallStory } from './admin/stories.ts'
import { startFoldedPair } from './test-folded.ts'

failOnLeaks()

/** The admin port of a gateway, as scripts use it. */
function adminOf({ adminUrl }: { readonly adminUrl: string }) {
  const read = async <T>(path: string, init?: RequestInit) => {
    const answer = await fetch(adminUrl + path, init)
    return { status: answer.status, body: (await answer.json()) as T }
  }
  const look = async <T>(path: string): Promise<T> => (await read<T>(path)).body
  return {
    look,
    ask: (path: string, reason = 'a test') =>
      read<StageOutcome & { detail: string; type: string }>(`/-/${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-foldgate-actor': 'mia' },
        body: JSON.stringify({ reason }),
      }),
    layer: async (name: string) =>
      (await look<{ layers: LayerView[] }>('/-/layers')).layers.find((each) => each.name === name) as LayerView,
    history: async () => (await look<{ changes: ChangeView[] }>('/-/history')).changes,
  }
}

test('a layer moves step by step to the runner, and every step is what the admin port shows and calls are told', {
  timeout: 60_000,
}, async () => {
  await using pair = await startFoldedPair()
  const { ask, layer, history, look } = adminOf(pair.gateway)
  const seen: string[] = []
  for (const verb of ['shadow', 'canary', 'promote', 'promote', 'promote', 'promote', 'rollback']) {
    const { status, body } = await ask(`layers/postprocess/${verb}`)
    expect([status, body.changes.length, body.warnings]).toEqual([200, 1, []])
    const { stage, weight, where, status: printed } = await layer('postprocess')
    seen.push(`${body.changes[0]?.from} → ${body.changes[0]?.to}: ${stage} ${weight} ${where} ${printed}`)
  }
  expect(seen).toEqual([
    'gateway → shadow: shadow 0 gateway evaporation-started',
    'shadow → canary 1 %: canary 1 gateway+runner evaporation-accelerating',
    'canary 1 % → canary 10 %: canary 10 gateway+runner evaporation-accelerating',
    'canary 10 % → canary 50 %: canary 50 gateway+runner evaporation-accelerating',
    'canary 50 % → canary 100 %: canary 100 gateway+runner evaporation-accelerating',
    'canary 100 % → native: native 100 runner evaporation-complete',
    'native → rolled-back: rolled-back 0 gateway active',
  ])
  const told = await history()
  expect(told).toHaveLength(7)
  expect(told.at(-1)).toMatchObject({ from: 'native', to: 'rolled-back', actor: 'mia', reason: 'a test' })
  expect((await look<{ changes: ChangeView[] }>('/-/history?limit=2')).changes).toEqual(told.slice(-2))
})

test('a call that was folded is told with what the runner acknowledged, and nothing of what was said in it', async () => {
  await using pair = await startFoldedPair({ stages: { postprocess: 'native' } })
  const { look } = adminOf(pair.gateway)
  const { text, headers } = await pair.chat('write to joe@example.com', { 'x-request-id': 'r1' })
  expect(text).toContain('[redacted email]')
  expect(headers.get('x-layer-status')).toContain('postprocess=evaporation-complete;by=runner')
  const story = await look<CallStory>('/-/explain?id=r1')
  const [policy] = (await look<LayerStory>('/-/explain?layer=postprocess')).policies
  expect(story.fold).toMatchObject({ sends: 1, policy: policy?.digest, boot: expect.stringMatching(/^b_/) })
  expect(story.fold?.layers).toEqual([
    {
      name: 'postprocess',
      stage: 'native',
      mode: 'enforce',
      outcome: expect.stringMatching(/^(pass|ok)$/),
      us: expect.any(Number),
      essence: expect.stringMatching(/==$/),
    },
  ])
  expect(JSON.stringify(story)).not.toContain('joe')
})

test('a runner that cannot execute a layer is shown with why, degrades the gateway, and calls fall back for that reason', async () => {
  await using pair = await startFoldedPair({ kid: 'another' })
  const { ask, layer, look } = adminOf(pair.gateway)
  expect((await look<StatusView>('/-/status')).state).toBe('ok')
  const { body } = await ask('layers/postprocess/shadow')
  const why = 'the runner does not know the signing key k1; it knows another'
  expect(body.warnings).toEqual([
    expect.stringContaining(`postprocess is shadow and cannot act at any runner process: gpu-a 127.0.0.1:`),
  ])
  for (const _ of [1, 2, 3, 4, 5]) await ask('layers/postprocess/promote')
  const { where, status, processes } = await layer('postprocess')
  expect([where, status]).toEqual(['gateway', 'fallback'])
  expect(processes).toMatchObject([{ runner: 'gpu-a', able: false, reason: 'signature', why }])
  const { state, problems } = await look<StatusView>('/-/status')
  expect([state, problems]).toEqual(['degraded', [expect.stringContaining(why)]])
  const { headers } = await pair.chat('hello', { 'x-request-id': 'r1' })
  const fold = (await look<CallStory>('/-/explain?id=r1')).fold
  expect(headers.get('x-layer-status')).toContain(`postprocess=fallback;by=gateway;reason=${fold?.reason}`)
  expect(fold).toEqual({
    sends: 0,
    reason: expect.any(String),
    layers: [{ name: 'postprocess', stage: 'native', fallback: fold?.reason }],
  })
})

test('what the stages do not allow is refused with why, and changes nothing', async () => {
  await using pair = await startFoldedPair()
  const { ask, history } = adminOf(pair.gateway)
  const refusals = [
    [await ask('layers/postprocess/canary'), 409, 'postprocess is gateway; a canary begins from shadow'],
    [await ask('layers/cache/shadow'), 404, 'layer "cache" is not configured'],
    [await ask('layers/no%20layer/hold'), 404, 'layer "no layer" is not configured'],
  ] as const
  for (const [{ status, body }, expected, detail] of refusals) expect([status, body.detail]).toEqual([expected, detail])
  expect(refusals[0][0].body.type).toBe('urn:foldgate:stage-refused')
  expect(await history()).toEqual([])
})

test('a layer on hold is not moved on, comes back all the same and is free then, and history says who held it', async () => {
  await using pair = await startFoldedPair()
  const { ask, history, layer } = adminOf(pair.gateway)
  await ask('layers/postprocess/shadow')
  await ask('layers/postprocess/hold', 'freeze')
  expect((await layer('postprocess')).held).toBe(true)
  expect((await ask('layers/postprocess/hold', 'again')).body.changes).toEqual([])
  expect((await ask('layers/postprocess/promote')).body.detail).toContain('is on hold; resume it first')
  expect((await ask('rollback')).body.changes).toMatchObject([{ from: 'shadow, held', to: 'rolled-back' }])
  expect((await ask('layers/postprocess/resume', 'thaw')).body.changes).toEqual([])
  expect((await history()).map(({ from, to, reason }) => `${from} → ${to}: ${reason}`)).toEqual([
    'gateway → shadow: a test',
    'shadow → shadow, held: freeze',
    'shadow, held → rolled-back: a test',
  ])
})

test('a rollback says which other layers it takes along', async () => {
  const layers = {
    'rate-limit': { limits: [{ key_fields: ['client_ip'], requests_per_minute: 100 }] },
    cache: {},
    postprocess: {},
  }
  const stages = { 'rate-limit': 'native', cache: 'native', postprocess: 'native' }
  await using pair = await startFoldedPair({ layers, stages })
  const { body } = await adminOf(pair.gateway).ask('layers/cache/rollback')
  expect(body.changes.map(({ layer, from, to }) => `${layer}: ${from} → ${to}`)).toEqual([
    'rate-limit: native → gateway',
    'cache: native → rolled-back',
  ])
  expect(body.layers.find(({ name }) => name === 'postprocess')?.where).toBe('runner')
})

test('what the runner found of a rule stands beside the layer, with what would do', async () => {
  const layers = {
    auth: { anonymous: true, jwt: { issuer: 'https://a.example', audience: 'b', jwksUrl: 'https://a.example/jwks' } },
    'rate-limit': { limits: [{ key_fields: ['facts.peer'], requests_per_minute: 100 }] },
    postprocess: {},
  }
  await using pair = await startFoldedPair({ layers })
  const { look, layer } = adminOf(pair.gateway)
  const auth = await look<LayerStory>('/-/explain?layer=auth')
  expect(auth.processes).toMatchObject([
    {
      able: false,
      reason: 'unsupported-layer',
      report: {
        status: 'refused',
        code: 'EGRESS_DENIED',
        path: 'jwt.jwksUrl',
        value: 'a.example',
        try: expect.any(String),
      },
    },
  ])
  expect(auth.foldable).toContain('auth cannot move while')
  const limit = await layer('rate-limit')
  expect(limit).toMatchObject({ policies: [], processes: [], stays: expect.stringContaining('facts.peer') })
  const { policies, processes } = await layer('postprocess')
  expect(policies.map(({ route }) => route)).toEqual(['chat', 'completions', 'messages'])
  expect(processes).toMatchObject([{ able: true, report: { status: 'compiled' } }])
})

test.each([
  ['a native runner', { kind: 'openai' }, {}, 'no runner is of kind native'],
  ['a key to sign with', { kind: 'native' }, {}, 'signing.keys is empty'],
])('without %s no layer leaves the gateway', async (_, runner, config, why) => {
  await using gateway = await startTestGateway({
    runners: [{ url: 'http://127.0.0.1:1', ...runner }],
    layers: { postprocess: {} },
    config,
  })
  const { ask, look, layer } = adminOf(gateway)
  const { status, body } = await ask('layers/postprocess/shadow')
  expect([status, body.detail]).toEqual([409, expect.stringContaining(`postprocess cannot move: ${why}`)])
  expect((await layer('postprocess')).stage).toBe('gateway')
  expect((await look<LayerStory>('/-/explain?layer=postprocess')).foldable).toContain(why)
  expect((await ask('layers/postprocess/rollback')).body.changes).toEqual([])
})

test('a process that is away is shown as such, with why', async () => {
  await using pair = await startFoldedPair({ stages: { postprocess: 'native' } })
  await pair.runner.close(0)
  const [process] = pair.gateway.setup().folding.instances?.of('gpu-a') ?? []
  await process?.refresh()
  const { runners, problems, state } = await adminOf(pair.gateway).look<StatusView>('/-/status')
  expect(runners[0]?.processes).toMatchObject([{ reachable: false, why: expect.any(String), engine: 'echo 0.1.0' }])
  expect([state, problems]).toEqual(['degraded', [expect.stringMatching(/^postprocess is native and cannot act/)]])
})
