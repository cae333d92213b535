import { writeFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { describe, expect, it } from 'vitest'
import { startRunner } from '../../native-runner/runner.ts'
import { createSigningKey } from '../../plugins/jws-key.ts'
import { requestBody } from '../bench/bodies.ts'
import { countingJson, createJsonCounts } from '../bench/json-counts.ts'
import { benchOptions } from '../bench/options.ts'
import { createRig } from '../bench/rig.ts'
import { until } from '../support/gate.ts'
import { createTempDir } from '../support/temp-dir.ts'

const bodyBytes = 40_000
const secret = 'b'.repeat(32)

/** A gateway in a process of its own, which counts the JSON of the size of bodies; every layer at a native runner, or here. */
async function startCounting(folded: boolean) {
  const stack = new AsyncDisposableStack()
  const dir = stack.use(createTempDir())
  const native = dir.file('key')
  writeFileSync(native, secret)
  const key = createSigningKey({ kid: 'bench', alg: 'HS256', secret: Buffer.from(secret) })
  const server = { port: 0, apiKey: secret }
  const runner = await startRunner({ engine: 'echo', model: 'bench', server, execution: { keys: [key] } })
  stack.defer(() => runner.close(0))
  const rig = stack.use(await createRig(benchOptions(['--source']), { tested: undefined, rest: undefined }))
  const way = folded ? { upstream: Number(new URL(runner.url).port), native } : { upstream: rig.upstream.json }
  const plan = { layers: rig.layers.all, nodeFlags: countingJson, ...way }
  const gateway = await rig.gateway(plan)
  const ask = async (stream: boolean, number = Math.random()): Promise<Asked> => {
    const body = requestBody(bodyBytes, { stream, messages: 4 }).replace(/@+/, String(number).slice(0, 12))
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${rig.layers.token}` }
    const url = `http://127.0.0.1:${gateway.port}/v1/chat/completions`
    const response = await fetch(url, { method: 'POST', headers, body })
    return {
      status: response.status,
      states: response.headers.get('x-layer-status') ?? '',
      text: await response.text(),
    }
  }
  return {
    ask,
    count: createJsonCounts(gateway.process),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

interface Asked {
  readonly status: number
  readonly states: string
  readonly text: string
}

const atRunner = /^(?:[a-z-]+=evaporation-complete;by=runner(?:;armed)?(?:, |$)){6}$/

const none = { parses: 0, writes: 0 }

describe('the body of a call', () => {
  it('of which every layer is at the runner is neither parsed nor written here, streamed or not', async () => {
    await using counting = await startCounting(true)
    await until(async () => atRunner.test((await counting.ask(false)).states), 'folded')
    const rounds: unknown[] = []
    // The gateway also asks the runner what it can, now and then: what no call of a round did, no call does.
    for (let round = 0; round < 3 && !rounds.some((counts) => isDeepStrictEqual(counts, none)); round++) {
      await counting.count()
      for (const stream of [false, true, false, true]) {
        const { status, states, text } = await counting.ask(stream)
        expect([status, atRunner.test(states), text.length > 1_000]).toEqual([200, true, true])
        expect(text.startsWith('data:')).toBe(stream)
      }
      rounds.push(await counting.count())
    }
    expect(rounds).toContainEqual(none)
  })

  it('is parsed and written where the layers are here, so that the count counts', async () => {
    await using counting = await startCounting(false)
    await counting.count()
    expect((await counting.ask(false)).status).toBe(200)
    const { parses, writes } = await counting.count()
    expect([parses > 0, writes > 0]).toEqual([true, true])
  })
})
