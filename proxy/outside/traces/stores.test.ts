import { describe, expect, it } from 'vitest'
import type { TraceStoreConfig } from '../../../config/outside.ts'
import { failOnLeaks } from '../../../test/support/leaks.ts'
import { json, reply } from '../../../test/support/reply.ts'
import { type Script, startUpstream } from '../../../test/support/upstream.ts'
import { createHttp } from '../../host.ts'
import { counted, jaegerAnswer, question, targetOf, tempoAnswer } from './stores.support.ts'
import { traceqlFrom } from './tempo.ts'
import { createWitness, type Witness } from './witness.ts'

failOnLeaks()

const configOf = (given: Partial<TraceStoreConfig>): TraceStoreConfig => ({
  ...{ kind: 'jaeger', url: null, tokenFile: null, tenant: null, sampling: 'head' },
  ...{ minCalls: 10, maxTraces: 20, alpha: 0.001, timeoutMs: 2_000 },
  ...given,
})

/** A store that answers by a script, what a witness made of it, and the requests it took. */
async function asking<T>(script: Script, given: Partial<TraceStoreConfig>, use: (witness: Witness) => Promise<T>) {
  await using store = await startUpstream(script)
  const http = createHttp()
  const witness = createWitness(configOf({ url: `${store.url}/`, ...given }), {
    http,
    secret: (path) => Buffer.from(`${path}\n`),
  })
  try {
    return {
      result: await use(witness!),
      requests: store.requests.map((each) => ({ ...targetOf(each), headers: each.headers })),
    }
  } finally {
    await http.close()
  }
}

const askOnce = (witness: Witness) => witness.ask(question)

describe('Jaeger', () => {
  it('is asked by service, tags and time in microseconds, and its spans are counted by arm', async () => {
    const { result, requests } = await asking(jaegerAnswer, { kind: 'jaeger' }, askOnce)
    expect(requests).toMatchObject([
      {
        path: '/api/traces',
        query: {
          service: 'foldgate',
          start: '1790000000000000',
          end: '1790000060500000',
          tags: '{"foldgate.rollout":"01J9","foldgate.stage":"canary 10 %"}',
          limit: '20',
        },
      },
    ])
    expect(result).toEqual({ arms: counted, traces: 11, partial: false })
  })

  it('is said to have more when it fills the limit', async () => {
    const { result } = await asking(jaegerAnswer, { maxTraces: 11 }, askOnce)
    expect(result.partial).toBe(true)
  })

  it('that has nothing has nothing', async () => {
    const empty = { data: null, total: 0, limit: 0, offset: 0, errors: null }
    expect((await asking(json(empty), {}, askOnce)).result).toEqual({ arms: {}, traces: 0, partial: false })
  })
})

describe('Jaeger v3', () => {
  it('is asked in its own words, old and new, and counts the same', async () => {
    const { result, requests } = await asking(jaegerAnswer, { kind: 'jaeger-v3' }, askOnce)
    expect(requests[0]).toMatchObject({
      path: '/api/v3/traces',
      query: {
        'query.service_name': 'foldgate',
        'query.start_time_min': '2026-09-21T14:13:20.000Z',
        'query.start_time_max': '2026-09-21T14:14:20.500Z',
        'query.num_traces': '20',
        'query.search_depth': '20',
        'query.attributes': '{"foldgate.rollout":"01J9","foldgate.stage":"canary 10 %"}',
      },
    })
    expect(result.arms).toEqual(counted)
  })

  it('says with 404 that it has nothing', async () => {
    const none = json({ error: { httpCode: 404, message: 'No traces found' } }, 404)
    expect((await asking(none, { kind: 'jaeger-v3' }, askOnce)).result).toEqual({ arms: {}, traces: 0, partial: false })
  })
})

describe('Tempo', () => {
  it('is searched with TraceQL and seconds, then read trace by trace', async () => {
    const { result, requests } = await asking(
      tempoAnswer,
      { kind: 'tempo', tenant: 'llm', tokenFile: 'the-token' },
      askOnce,
    )
    expect(requests[0]).toMatchObject({
      path: '/api/search',
      query: {
        q: '{ resource.service.name = "foldgate" && span.foldgate.rollout = "01J9" && span.foldgate.stage = "canary 10 %" }',
        ...{ start: '1790000000', end: '1790000061', limit: '20', spss: '1' },
      },
      headers: { authorization: 'Bearer the-token', 'x-scope-orgid': 'llm', accept: 'application/json' },
    })
    expect(
      requests
        .slice(1)
        .map(({ path }) => path)
        .sort(),
    ).toEqual(['1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b'].map((id) => `/api/traces/${id}`))
    expect(result).toEqual({ arms: { ...counted, native: { ...counted.native, calls: 3 } }, traces: 10, partial: true })
  })

  it('cannot be asked anything else through a name', () => {
    expect(traceqlFrom({ ...question, rollout: 'a" || true || "\\' })).toContain(
      'span.foldgate.rollout = "a\\" || true || \\"\\\\"',
    )
  })
})

describe('a witness', () => {
  const here = { native: { calls: 5, bad: 1, fallbacks: 1 }, gateway: { calls: 1, bad: 0, fallbacks: 0 } }

  it('is nobody without an address', () => {
    expect(createWitness(configOf({}), { http: createHttp(), secret: () => Buffer.alloc(0) })).toBeUndefined()
  })

  it('compares what it was told with what it finds', async () => {
    const compare = (witness: Witness) => witness.compare(question, here)
    expect((await asking(jaegerAnswer, { minCalls: 4 }, compare)).result.verdict).toBe('agree')
    expect((await asking(jaegerAnswer, { minCalls: 10 }, compare)).result.verdict).toBe('too-few')
  })

  it.each([
    ['answers 500', reply(500).send('no'), /answered 500 to \/api\/traces/],
    ['is no trace store', reply(200).send('<html>'), /not JSON/],
    ['resets', reply(200).send('{').reset(), /could not be asked/],
  ])('that %s has seen too few', async (_, script, words) => {
    const { result } = await asking(script, {}, (witness) => witness.compare(question, here))
    expect(result).toEqual({ verdict: 'too-few', words: expect.stringMatching(words) })
  })
})
