import { describe, expect, test, vi } from 'vitest'
import { createTestHost } from '../../test/support/host.ts'
import { type Call, createCall } from '../call.ts'
import { gatewayErrorFrom } from '../errors.ts'
import type { Acting, NativeContract, Probe } from '../layer.ts'
import { refuse, type Verdict } from '../verdict.ts'
import { configSchema } from './config.ts'
import { postprocess } from './index.ts'
import { postprocessProbes } from './probes.ts'
import type { PostprocessStep } from './step.ts'
import {
  callOf,
  completionOf,
  type Said,
  seatOf,
  settled,
  settledBy,
  stepOf,
  streamOf,
  wholeOf,
} from './test-answers.ts'

const native = postprocess.native as NativeContract<PostprocessStep>
const act = async (step: PostprocessStep, seat = seatOf()): Promise<Acting> => native.act(step, seat)
const url = 'http://judge.example/score'
const hook = 'http://judge.example/review'
const rich = {
  json: { schema: { type: 'object' } },
  forbidden_phrases: ['secret'],
  pii: { types: ['email'], custom: [{ name: 'ticket', pattern: 'T-\\d+', maxMatch: 16 }] },
  echo_guard: { paths: ['user_id', 'body.user'] },
  quality_score: { scorer: 'endpoint', url, tokenFile: 'keys/judge.token', min: 0.5 },
  review: { below: 0.7, webhook: hook },
  routes: { completions: { json: { schema: null }, suffix: 'Bye.' } },
  tenants: { acme: { json: { schema: null }, moderation: { kind: 'endpoint', url, tokenFile: 'keys/other.token' } } },
}

describe('the step', () => {
  test('the same configuration gives the same step, which survives JSON and its own schema', () => {
    const step = stepOf(rich, ['user_id', 'plan'])
    expect(stepOf(rich, ['plan', 'user_id'])).toEqual(step)
    expect(native.step.faults(step)).toEqual([])
    expect(native.step.faults(stepOf({}))).toEqual([])
    expect(step.declared).toEqual(['plan', 'user_id'])
  })
  test('it names the files with tokens and holds no header', () => {
    const step = stepOf(rich)
    expect(step.quality_score?.tokenFile).toBe('judge.token')
    expect(step.tenants['acme']?.moderation?.tokenFile).toBe('other.token')
    const headers = { ...step, quality_score: { ...step.quality_score, headers: { 'x-key': 'k' } } }
    expect(native.step.faults(headers)).toMatchObject([{ path: 'quality_score.headers' }])
    const path = { ...step, quality_score: { ...step.quality_score, tokenFile: '../judge.token' } }
    expect(native.step.faults(path)).toMatchObject([{ path: 'quality_score.tokenFile' }])
  })
  test('judges that are sent headers keep the layer in the gateway, in words', () => {
    const stays = (config: object): string | undefined => postprocess.stays?.(configSchema.parse(config))
    expect(stays(rich)).toBeUndefined()
    const moderation = { kind: 'endpoint', url, headers: { authorization: 'Bearer k' } }
    expect(stays({ moderation })).toMatch(/^moderation\.headers .* tokenFile/)
    expect(stays({ tenants: { t1: { moderation } } })).toMatch(/^tenants\.t1\.moderation\.headers/)
    expect(JSON.stringify(stepOf({ moderation }))).not.toContain('Bearer')
  })
  test('a step with an unknown member, or with one left out, is none', () => {
    const { redaction: _redaction, ...less } = stepOf({})
    expect(native.step.faults(less)).toMatchObject([{ path: 'redaction' }])
    expect(native.step.faults({ ...stepOf({}), extra: 1 })).toMatchObject([{ path: 'extra' }])
    expect(native.step.faults({ ...stepOf({}), tenants: { a: { pii: {} } } })[0]?.path).toMatch(/^tenants\.a\.pii\./)
  })
  test('what is wrong inside a step is told all at once, with paths inside the step', async () => {
    const step = stepOf({
      pii: { custom: [{ name: 'a', pattern: '(', maxMatch: 9 }] },
      tenants: { t: { suffix: 'x' } },
    })
    const bad = { ...step, required_phrases: ['x'], forbidden_phrases: ['x'] }
    const faults = [{ path: 'pii.custom[0].pattern' }, { path: 'required_phrases[0]' }, { path: 'tenants.t.suffix' }]
    await expect(act(bad)).rejects.toMatchObject({ code: 'config_invalid', detail: { faults } })
  })
})

describe('parity', () => {
  test.each(postprocessProbes.map((probe) => [probe.title, probe] as const))('probe: %s', async (_title, probe) => {
    expect(native.step.faults(probe.step)).toEqual([])
    const verdict = await decided(await act(probe.step), probe)
    const { o, code } = probe.expect
    expect(verdict.kind).toBe(o)
    expect(verdict.kind === 'refuse' ? verdict.error.code : undefined).toBe(code)
    const here = await decided(await act(probe.step, Object.assign(seatOf(), { side: 'copy' as const })), probe)
    expect(native.essence?.(here, callFrom(probe))).toEqual(native.essence?.(verdict, callFrom(probe)))
  })

  const cleaning = { ...rich, json: {}, quality_score: null, review: null, tenants: {} }
  const mail = 'write to a@b.com about T-12, u of Hi'
  test.each<[string, object, object, readonly Said[]]>([
    ['redaction', cleaning, {}, [completionOf(mail)]],
    ['redaction in a stream', cleaning, { stream: true }, [streamOf([mail])]],
    ['a block', { forbidden_phrases: ['secret'] }, {}, [completionOf('the secret')]],
    ['a schema', { json: { schema: { type: 'object' } } }, { stream: true }, [streamOf(['```json\n{"a":1}', '\n```'])]],
    ['a retry', { min_output_length: 9, onInvalid: 'retry' }, {}, [completionOf('short'), completionOf('long enough')]],
    ['a suffix', { suffix: 'Bye.' }, { stream: true }, [streamOf(['Hello. '])]],
  ])('both halves make the same of an answer: %s', async (_name, config, body, says) => {
    const outcome = async (reply: Promise<unknown>): Promise<unknown> => {
      try {
        return await wholeOf((await reply) as never)
      } catch (reason) {
        return gatewayErrorFrom(reason).code
      }
    }
    const host = createTestHost()
    const seat = seatOf()
    const here = await outcome(settled({ config, call: callOf(body), says, host }))
    expect(
      await outcome(settledBy(await act(stepOf(config, ['user_id', 'plan']), seat), { call: callOf(body), says })),
    ).toEqual(here)
    expect(seat.counts).toEqual(host.counts)
  })
  test('an answer is stored under the same rules on both sides, whatever judges are let in by', async () => {
    const seat = seatOf({ files: { 'judge.token': 'k', 'other.token': 'k' } })
    const host = createTestHost({ files: { 'keys/judge.token': 'k', 'keys/other.token': 'k' } })
    const there = await act(stepOf(rich, ['user_id']), seat)
    const here = await postprocess.open(configSchema.parse(rich), host)
    for (const tenant of ['t1', 'acme']) {
      const rule = there.ruleFor?.(callOf({}, { tenant }))
      expect(rule).toEqual(here.ruleFor?.(callOf({}, { tenant })))
      expect(there.ruleFor?.(callOf({}, { tenant }))).toBe(rule)
    }
  })
})

describe('judges', () => {
  const config = {
    quality_score: { scorer: 'endpoint', url, tokenFile: 'keys/judge.token', min: 0.5 },
    review: { below: 0.7, webhook: hook, stream: 'reviews' },
    onInvalid: 'retry',
    pii: { types: ['email'] },
  }
  const answering = (seat: ReturnType<typeof seatOf>) => {
    seat.answers.set(url, () => ({ body: Buffer.from('{"score":0.4}') }))
    seat.answers.set(hook, () => ({}))
    return seat
  }
  test('are let in by the token in a secret file', async () => {
    const seat = answering(seatOf({ files: { 'judge.token': 'k1\n' } }))
    const says = [completionOf('an answer'), completionOf('another')]
    await expect(settledBy(await act(stepOf(config), seat), { call: callOf({}), says })).rejects.toMatchObject({
      code: 'output_invalid',
    })
    expect(seat.sent[0]?.request.headers).toMatchObject({ authorization: 'Bearer k1' })
  })
  test('a token that is not there is a fault with its path', async () => {
    await expect(act(stepOf(config), seatOf())).rejects.toMatchObject({
      code: 'config_invalid',
      detail: { faults: [{ path: 'quality_score.tokenFile' }] },
    })
  })
  test('an observer asks none of them, tells no reviewer, asks for no other answer and counts nothing', async () => {
    const seat = answering(seatOf({ files: { 'judge.token': 'k1' } }))
    const append = vi.spyOn(seat.store, 'append')
    const asked: Call[] = []
    const acting = await act(stepOf(config), seat)
    const settling = vi.spyOn(acting as Required<Acting>, 'settle')
    const job = { call: callOf({}), says: [completionOf('write to a@b.com')], asked, mode: 'observe' as const }
    const live = await wholeOf(await settledBy(acting, job))
    expect(live.choices?.[0]?.message?.content).toBe('write to a@b.com')
    const beside = await wholeOf(await settling.mock.results[0]?.value)
    expect(beside.choices?.[0]?.message?.content).toBe('write to [redacted email]')
    expect([asked.length, seat.sent.length, append.mock.calls.length, seat.counts.size]).toEqual([1, 0, 0, 0])
  })
  test('an observer finds a broken rule and nobody notices', async () => {
    const seat = seatOf()
    const acting = await act(stepOf({ min_output_length: 99, onInvalid: 'retry' }), seat)
    const settling = vi.spyOn(acting as Required<Acting>, 'settle')
    const asked: Call[] = []
    const job = { call: callOf({}), says: [completionOf('short')], asked, mode: 'observe' as const }
    const live = await wholeOf(await settledBy(acting, job))
    expect(live.choices?.[0]?.message?.content).toBe('short')
    await expect(settling.mock.results[0]?.value).rejects.toMatchObject({ code: 'output_invalid' })
    expect([asked.length, seat.counts.size]).toEqual([1, 0])
  })
})

test('claims travel that an echo guard looks for', () => {
  const config = {
    echo_guard: ['plan', 'facts.team.name', 'facts.claims.role', 'tenant', 'messages.0.content'],
    tenants: { acme: { echo_guard: { paths: ['facts.badge'] } } },
  }
  expect(native.claims?.(stepOf(config, ['plan']))).toEqual(['badge', 'plan', 'role', 'team'])
  expect(native.claims?.(stepOf({}))).toEqual([])
})

function callFrom({ body, headers = {}, principal = {}, now = 1_900_000_000_000 }: Probe<PostprocessStep>): Call {
  const caller = { id: 'probe', tenant: 'probe', tier: '', scopes: [], claims: {}, method: 'jwt' as const }
  return createCall({
    id: 'probe',
    route: 'chat',
    now,
    body: Buffer.from(JSON.stringify(body)),
    headers,
    facts: { principal: { ...caller, ...principal } },
    signal: new AbortController().signal,
  })
}

async function decided(acting: Acting, probe: Probe<PostprocessStep>): Promise<Verdict> {
  try {
    return (await acting.decide?.(callFrom(probe), 'observe')) as Verdict
  } catch (reason) {
    return refuse(gatewayErrorFrom(reason))
  }
}
