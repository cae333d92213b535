import { describe, expect, it } from 'vitest'
import { startRunner } from '../../native-runner/runner.ts'
import { createSigningKey } from '../../plugins/jws-key.ts'
import { type Fault, startFaultyRunner } from './faulty-runner.ts'
import { allNative, type FoldingRig, layerStates, startFoldingRig } from './folding-rig.ts'

const all = Object.keys(allNative)
const say = (content: string): object => ({ messages: [{ role: 'user', content }] })

/** A rig whose runner has a fault that can be planted. */
async function startFaulty(options: Parameters<typeof startFoldingRig>[0] = {}) {
  const stack = new AsyncDisposableStack()
  const faulty = stack.use(await startFaultyRunner('http://127.0.0.1:9'))
  const rig = stack.use(await startFoldingRig({ stages: allNative, ...options, front: (url) => faulty.leading(url) }))
  return { rig, faulty, [Symbol.asyncDispose]: () => stack.disposeAsync() }
}

const forContexts =
  (change: Exclude<ReturnType<Fault>, undefined>): Fault =>
  ({ path, headers }) =>
    path === '/v1/chat/completions' && headers['x-execution-context'] ? change : undefined

async function metric(rig: FoldingRig, name: string): Promise<string[]> {
  const text = await (await fetch(`${rig.gateway.adminUrl}/metrics`)).text()
  return text.split('\n').filter((line) => line.startsWith(`foldgate_${name}{`))
}

describe('a runner that cannot', () => {
  it.each<[string, Fault, string]>([
    ['acknowledges nothing', forContexts(({ headers }) => void delete headers['x-layer-ack']), 'not-acknowledged'],
    [
      'forges what it has done',
      forContexts((answer) => {
        answer.headers['x-layer-ack'] = String(answer.headers['x-layer-ack'] ?? '')
          .replace('o=armed', 'o=pass')
          .replace('d=', 'd=9')
      }),
      'not-acknowledged',
    ],
    ['fails with a context', forContexts({ status: 500, body: '{"error":{"message":"broken"}}' }), 'runner-error'],
  ])(
    'and %s: the gateway serves the very same request, and says so (scenario 26) (scenario 23)',
    async (_, fault, reason) => {
      await using started = await startFaulty()
      const { rig, faulty } = started
      expect(layerStates(await rig.chat(say('before')))).toMatchObject({ cache: 'evaporation-complete;by=runner' })
      faulty.plant(fault)
      const response = await rig.chat(say('during'))
      expect([response.status, response.headers.get('x-fallback-reason')]).toEqual([200, reason])
      expect(layerStates(response)).toEqual(
        Object.fromEntries(all.map((name) => [name, `fallback;by=gateway;reason=${reason}`])),
      )
      expect(faulty.seen.plain).toBe(1)
      expect((await metric(rig, 'fallbacks_total')).length).toBe(all.length)
      faulty.plant(undefined)
      expect(layerStates(await rig.chat(say('after')))).toMatchObject({ cache: 'evaporation-complete;by=runner' })
    },
  )

  it('whose stream ends without its final word is noticed, and the answer stands', async () => {
    await using started = await startFaulty()
    const { rig, faulty } = started
    faulty.plant(
      forContexts((answer) => {
        answer.trailers = {}
      }),
    )
    const response = await rig.chat({ ...say('a stream'), stream: true })
    expect(await response.text()).toContain('[DONE]')
    const missed = await metric(rig, 'missing_header_total')
    expect(missed).toEqual(['foldgate_missing_header_total{header="x-layer-ack-end",where="runner-out"} 1'])
  })
})

describe('a runner that is another process than before', () => {
  it('is noticed within the request, which is served by it as if nothing had been', async () => {
    await using started = await startFaulty()
    const { rig, faulty } = started
    await (await rig.chat(say('one'))).text()
    await using next = await startRunner({
      engine: 'echo',
      model: 'echo',
      server: { port: 0, apiKey: 'a-runner-key-of-more-than-thirty-two-bytes' },
      execution: { keys: [createSigningKey({ kid: 'k1', alg: 'HS256', secret: rig.secret })] },
    })
    faulty.lead(next.url)
    const response = await rig.chat(say('two'))
    expect(response.status).toBe(200)
    expect(layerStates(response)).toEqual(
      Object.fromEntries(all.map((name) => [name, 'evaporation-complete;by=runner'])),
    )
  })
})

describe('a caller who provokes fallbacks', () => {
  const limit = { limits: [{ key_fields: ['tenant'], tokens_per_minute: 60, burst_capacity: 60 }] }
  const forced = { execution_context: { debug_force_fallback: true } }
  const config = { access: { debugScope: 'debug' } }
  const ask = async (rig: FoldingRig, more: object): Promise<number> => {
    const response = await rig.chat({ ...say(`hello ${Math.random()}`), max_tokens: 3, ...more })
    await response.text()
    return response.status
  }
  const untilRefused = async (rig: FoldingRig, more: object): Promise<number> => {
    for (let calls = 0; calls < 50; calls++) if ((await ask(rig, more)) === 429) return calls
    return 50
  }

  it.each([
    ['at the gateway first', forced, {}],
    ['at the runner first', {}, forced],
  ])('gets no second quota: %s', async (_, first, second) => {
    await using rig = await startFoldingRig({ stages: allNative, layers: { 'rate-limit': limit }, config })
    const calls = await untilRefused(rig, first)
    expect(calls).toBeGreaterThan(1)
    expect(calls).toBeLessThan(12)
    // A token a second comes back meanwhile: at most one small call's worth.
    expect(await untilRefused(rig, second)).toBeLessThanOrEqual(1)
  })

  it('without the right to debug is served as everybody', async () => {
    await using rig = await startFoldingRig({ stages: allNative, config })
    const response = await rig.chat({ ...say('please'), ...forced }, { authorization: `Bearer ${rig.keys[1]}` })
    await response.text()
    expect(layerStates(response)).toMatchObject({ cache: 'evaporation-complete;by=runner' })
  })

  it('moves no stage, and is no evidence', async () => {
    await using rig = await startFoldingRig({ stages: allNative, config })
    for (let call = 0; call < 5; call++) expect(await ask(rig, forced)).toBe(200)
    expect(layerStates(await rig.chat(say('still there')))).toMatchObject({ auth: 'evaporation-complete;by=runner' })
    const fallen = await metric(rig, 'fallbacks_total')
    expect(fallen.every((line) => line.includes('reason="debug_force"'))).toBe(true)
  })
})
