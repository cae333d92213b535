import { describe, expect, it } from 'vitest'
import { layers } from '../../plugins/index.ts'
import { type FoldingRig, layerStates, startFoldingRig } from './folding-rig.ts'

const names = layers.map(({ name }) => name)
// One token comes back a second: what a test takes is what is missing afterwards.
const capacity = 1_000_000
const limits = { limits: [{ key_fields: ['tenant'], tokens_per_minute: 60, burst_capacity: capacity }] }

/** Calls that go on until they are told to stop; each asks something of its own, so that none is answered from the cache. */
function startLoad(rig: FoldingRig, workers: number) {
  let going = true
  let used = 0
  const failed: string[] = []
  const statuses = new Set<string>()
  let calls = 0
  const work = async (): Promise<void> => {
    while (going) {
      const call = ++calls
      const stream = call % 3 === 0
      const response = await rig.chat({
        messages: [{ role: 'user', content: `call ${call} of many` }],
        stream,
        ...(stream ? { stream_options: { include_usage: true } } : {}),
      })
      const text = await response.text()
      statuses.add(response.headers.get('x-layer-status') ?? '')
      const total = /"total_tokens":(\d+)/.exec(text)?.[1]
      if (response.status !== 200 || total === undefined) failed.push(`${response.status} ${text.slice(0, 200)}`)
      else used += Number(total)
    }
  }
  const all = Array.from({ length: workers }, work)
  return {
    get calls() {
      return calls
    },
    statuses,
    async stop() {
      going = false
      await Promise.all(all)
      return { used, failed, calls }
    },
  }
}

/** Tokens that the side which decides now has left for the first tenant. */
async function remaining(rig: FoldingRig): Promise<{ left: number; used: number }> {
  const response = await rig.chat({ messages: [{ role: 'user', content: `how much is left ${Math.random()}` }] })
  const { usage } = (await response.json()) as { usage: { total_tokens: number } }
  return { left: Number(response.headers.get('x-ratelimit-remaining-tokens')), used: usage.total_tokens }
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise(setImmediate)
}

describe('layers move under load', () => {
  it('inside out, to native and back, without one failed or double-charged call (scenario 27) (I4)', async () => {
    await using rig = await startFoldingRig({ layers: { 'rate-limit': limits } })
    const load = startLoad(rig, 4)
    for (const name of names.toReversed()) {
      for (const stage of ['shadow', 'canary 1 %', 'canary 10 %', 'canary 50 %', 'canary 100 %', 'native']) {
        const seen = load.calls
        const response = await rig.move(name, 'promote')
        expect([name, stage, response.status]).toEqual([name, stage, 200])
        await until(() => load.calls > seen + 8)
      }
    }
    const native = await rig.chat({ messages: [{ role: 'user', content: 'all native' }] })
    expect(layerStates(native)).toEqual(
      Object.fromEntries(names.map((name) => [name, 'evaporation-complete;by=runner'])),
    )
    await native.text()
    for (const name of ['postprocess', 'prompt', 'routing', 'cache', 'rate-limit', 'auth']) {
      const seen = load.calls
      await rig.move(name, 'rollback')
      await until(() => load.calls > seen + 4)
    }
    const { used, failed, calls } = await load.stop()
    expect(failed).toEqual([])
    expect(calls).toBeGreaterThan(300)
    expect([...load.statuses].filter((status) => status.includes('fallback'))).toEqual([])
    // Every call was counted here once, whoever decided it.
    const { left, used: last } = await remaining(rig)
    const counted = capacity - left - last
    const nativeCall = 60
    expect(Math.abs(counted - used)).toBeLessThan(nativeCall + 60)
  }, 120_000)
})

describe('each layer alone, with the others off', () => {
  it.each(names)('%s goes to native and back', async (name) => {
    const off = Object.fromEntries(names.filter((each) => each !== name).map((each) => [each, undefined]))
    const plain = { templates: { main: { text: 'You serve everybody.', version: '1' } }, default: 'main' }
    await using rig = await startFoldingRig({ layers: { ...off, ...(name === 'prompt' ? { prompt: plain } : {}) } })
    const load = startLoad(rig, 2)
    for (let step = 0; step < 6; step++) {
      const seen = load.calls
      expect((await rig.move(name, 'promote')).status).toBe(200)
      await until(() => load.calls > seen + 2)
    }
    const response = await rig.chat({ messages: [{ role: 'user', content: 'now native' }] })
    await response.text()
    expect(layerStates(response)[name]).toBe('evaporation-complete;by=runner')
    await rig.move(name, 'rollback')
    const back = await rig.chat({ messages: [{ role: 'user', content: 'now back' }] })
    await back.text()
    expect(layerStates(back)[name]).toBe('active;by=gateway')
    const { failed } = await load.stop()
    expect(failed).toEqual([])
  })
})
