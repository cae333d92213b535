import { describe, expect, test, vi } from 'vitest'
import { createTestHost } from '../../test/support/host.ts'
import { type Call, createCall } from '../call.ts'
import { gatewayErrorFrom } from '../errors.ts'
import type { Acting, Mode, NativeContract, Probe } from '../layer.ts'
import { refuse, type Verdict } from '../verdict.ts'
import { prompt } from './index.ts'
import type { PromptRule } from './rule.ts'
import { ask, openRig, seatOf, stepOf } from './test-rig.ts'

const native = prompt.native as NativeContract<PromptRule>
const act = async (step: PromptRule, doors = {}): Promise<Acting> => native.act(step, seatOf(doors))
const decided = async (acting: Acting, call: Call, mode: Mode = 'enforce'): Promise<Verdict> => {
  try {
    return (await acting.decide?.(call, mode)) as Verdict
  } catch (reason) {
    return refuse(gatewayErrorFrom(reason))
  }
}
const essenceOf = async (acting: Acting, call: Call, mode: Mode = 'enforce'): Promise<unknown> =>
  native.essence?.(await decided(acting, call, mode), call)

const ruleOf = (acting: Acting, call: Call): unknown => {
  try {
    return acting.ruleFor?.(call)
  } catch (reason) {
    return gatewayErrorFrom(reason).code
  }
}

const words = (count: number, word = 'w'): string => Array(count).fill(word).join(' ')
const rich = {
  templates: {
    a: { file: 'a.txt', version: '2', versions: { '1': { text: 'old {{ tenant }}' } } },
    b: { text: 'B {{ claims.team }} {{ x }} {{ now_utc }}', position: 'after', role: 'developer' },
  },
  default: 'b',
  use: [
    { template: 'a', version: '1', when: { tier: 'pro' } },
    { template: 'a', when: { tenant: ['t2'] } },
  ],
  variables: { brand: 'Acme' },
  paths: { x: 'body.metadata.x', plan: 'plan' },
  decorators: [{ role: 'user', position: 'append', text: '({{ brand }}, {{ user_id }})', when: { tier: 'free' } }],
  adaptations: { steps: { enabled: true }, 'two-phase-tools': { enabled: true }, recap: { enabled: true } },
  context: { maxTokens: 200, reserveOutput: 10, keepTurns: 1 },
}
const files = { 'a.txt': 'A {{ brand }}\n' }

describe('the step', () => {
  test('the same configuration gives the same step, which survives JSON and its own schema', () => {
    const step = stepOf(rich, { files, declared: new Set(['plan', 'team']) })
    expect(stepOf(rich, { files, declared: new Set(['team', 'plan']) })).toEqual(step)
    expect(native.step.faults(step)).toEqual([])
    expect(native.step.faults(stepOf({}))).toEqual([])
    expect(step.templates['a']?.texts).toEqual({ '1': 'old {{ tenant }}', '2': 'A {{ brand }}' })
    expect(step.declared).toEqual(['plan', 'team'])
  })
  test('a step with an unknown member, or with one left out, is none', () => {
    const { clock: _clock, ...less } = stepOf({})
    expect(native.step.faults(less)).toMatchObject([{ path: 'clock' }])
    expect(native.step.faults({ ...stepOf({}), extra: 1 })).toMatchObject([{ path: 'extra' }])
    const template = { texts: {}, role: 'system', position: 'before', version: '1' }
    expect(native.step.faults({ ...stepOf({}), templates: { a: template } })).toMatchObject([
      { path: 'templates.a.texts' },
    ])
  })
  test('what is wrong across members of a step is told all at once, with paths inside the step', async () => {
    const text = { texts: { '1': '{{#if a}}' }, role: 'system', position: 'before', version: '2' } as const
    const step: PromptRule = { ...stepOf({}), templates: { a: text }, default: 'gone', paths: { x: '..' } }
    const paths = ['templates.a.version', 'templates.a.texts.1', 'paths.x', 'default']
    await expect(act(step)).rejects.toMatchObject({
      code: 'config_invalid',
      detail: { faults: paths.map((path) => ({ path })) },
    })
  })
})

describe('parity', () => {
  const tools = ['a', 'b'].map((name) => ({ type: 'function', function: { name } }))
  const long = [...Array(9).keys()].flatMap((n) => [
    { role: 'user', content: `${n} ${words(30)}` },
    { role: 'assistant', content: words(30) },
  ])
  const calls: Record<string, Call> = {
    plain: ask({ metadata: { x: 'X' } }, { claims: { team: 'red' } }),
    'another template': ask({}, { tenant: 't2' }),
    'a pinned version': ask({}, { tier: 'pro' }),
    'a missing variable': ask({}, { claims: { team: 'red' } }),
    steps: ask({ messages: [{ role: 'user', content: 'explain it step by step' }] }, { tier: 'pro' }),
    tools: ask({ tools }, { tier: 'pro' }),
    control: ask({ controllability: 'concise' }, { tier: 'pro', headers: { 'x-controllability': 'loud' } }),
    'a control that there is not': ask({}, { tier: 'pro', headers: { 'x-controllability': 'loud' } }),
    'a long conversation': ask({ messages: [...long, { role: 'user', content: 'so?' }] }, { tier: 'pro' }),
    'a last turn that is too long': ask({ messages: [{ role: 'user', content: words(500) }] }, { tier: 'pro' }),
  }
  test.each(Object.entries(calls))('both halves say the same of %s, deciding or only watching', async (_name, call) => {
    const source = { files, declared: new Set(['team', 'plan']) }
    const { acting } = await openRig(rich, source)
    const there = await act(stepOf(rich, source))
    const here = await essenceOf(acting, call)
    expect(await essenceOf(there, call)).toEqual(here)
    expect(await essenceOf(there, call, 'observe')).toEqual(here)
    expect(ruleOf(there, call)).toEqual(ruleOf(acting, call))
  })

  test.each(native.probes.map((probe) => [probe.title, probe] as const))('probe: %s', async (_title, probe) => {
    expect(native.step.faults(probe.step)).toEqual([])
    const call = callOf(probe)
    const verdict = await decided(await act(probe.step), call, 'observe')
    const { o, code } = probe.expect
    expect(verdict.kind).toBe(o)
    expect(verdict.kind === 'refuse' ? verdict.error.code : undefined).toBe(code)
    const gateway = await native.act(probe.step, { ...seatOf(), side: 'copy' })
    expect(await essenceOf(gateway, call)).toEqual(native.essence?.(verdict, call))
  })
})

describe('the essence', () => {
  const config = { context: { maxTokens: 60, reserveOutput: 10, keepTurns: 1 } }
  const turn = (word: string) => [
    { role: 'user', content: words(20, word) },
    { role: 'assistant', content: words(20, word) },
  ]
  const conversation = (more: string) =>
    ask({ messages: [...turn('a'), ...turn('b'), { role: 'user', content: `so? ${more}` }] })
  const counting = (factor: number) => {
    const { tokens } = createTestHost()
    return { tokens: { ...tokens, count: (text: string, model: string) => factor * tokens.count(text, model) } }
  }
  test('what each side leaves out by its own count is not in it', async () => {
    const step = stepOf(config)
    const call = conversation('')
    const verdicts = [await decided(await act(step), call), await decided(await act(step, counting(0.1)), call)]
    expect(verdicts.map((each) => each.kind === 'pass' && each.facts.context?.dropped.messages)).toEqual([4, undefined])
    expect(native.essence?.(verdicts[0] as Verdict, call)).toEqual(native.essence?.(verdicts[1] as Verdict, call))
  })
  test('that nothing is left out of what nobody can take whole is in it', async () => {
    const step = stepOf(config)
    const call = ask({ messages: [...turn('a'.repeat(100)), { role: 'user', content: 'so?' }] })
    expect(await essenceOf(await act(step), call)).toMatchObject({ kind: 'pass', shortened: true })
    expect(await essenceOf(await act(step, counting(0.1)), call)).toMatchObject({ shortened: false })
  })
  test('a summary is not in it, and an observer asks for none', async () => {
    const asking = vi.fn(async () => 'They said a.')
    const runners = { names: ['r'], state: createTestHost().runners.state, ask: asking }
    const summary = { runner: 'r', model: 'small', maxTokens: 4 }
    const step = stepOf({ context: { ...config.context, strategy: 'summarise', summary } })
    const call = conversation('')
    const watching = await essenceOf(await act(step, { runners }), call, 'observe')
    expect(asking).not.toHaveBeenCalled()
    expect(await essenceOf(await act(step, { runners }), call)).toEqual(watching)
    expect(asking).toHaveBeenCalledOnce()
  })
  test('the model and the stream options, which the gateway puts in after its own half, are not in it, and all else is', async () => {
    const acting = await act(stepOf({ templates: { a: { text: 'be kind' } }, default: 'a' }))
    const messages = [{ role: 'user', content: 'hello' }]
    const as = (more: object) => essenceOf(acting, ask({ messages, ...more }))
    const plain = await as({ model: 'gpt-4o', stream: true })
    expect(plain).toMatchObject({
      kind: 'pass',
      request: { messages: [{ role: 'system', content: 'be kind' }, ...messages] },
    })
    expect(await as({ model: 'm', stream: true, stream_options: { include_usage: true } })).toEqual(plain)
    expect(await as({ model: 'gpt-4o', stream: true, temperature: 0.5 })).not.toEqual(plain)
  })
  test('of a refusal it is the code', async () => {
    const acting = await act(stepOf({ templates: { a: { text: '{{ nobody }}' } } }))
    expect(await essenceOf(acting, ask())).toEqual({ kind: 'refuse', code: 'missing_variable' })
  })
})

describe('an exact count', () => {
  const step = stepOf({ context: { maxTokens: 70, reserveOutput: 10, keepTurns: 1 } })
  const messages = ['a', 'b', 'c', 'd', 'e'].map((word, n) => ({
    role: n % 2 ? 'assistant' : 'user',
    content: words(6, word),
  }))
  const left = async (exact: number | undefined, error: number, mode: Mode = 'enforce') => {
    const host = seatOf()
    const asked = vi.fn(async () => exact)
    const tokens = {
      ...host.tokens,
      exact: asked,
      estimate: () => ({ input: 50, error, output: 1 }),
    }
    const verdict = await decided(await native.act(step, Object.assign(host, { tokens })), ask({ messages }), mode)
    const dropped = verdict.kind === 'pass' ? verdict.facts.context?.dropped.messages : undefined
    return { dropped, asked: asked.mock.calls.length }
  }
  test('is asked for only where it could turn the answer, and then counts', async () => {
    expect(await left(61, 0)).toEqual({ dropped: undefined, asked: 0 })
    expect(await left(61, 9)).toEqual({ dropped: undefined, asked: 0 })
    expect(await left(61, 10)).toEqual({ dropped: 2, asked: 1 })
    expect(await left(60, 10)).toEqual({ dropped: undefined, asked: 1 })
    expect(await left(undefined, 10)).toEqual({ dropped: undefined, asked: 1 })
  })
  test('is nothing that an observer asks for', async () => {
    expect(await left(61, 10, 'observe')).toEqual({ dropped: undefined, asked: 0 })
  })
})

describe('what a step needs', () => {
  test('a summary by a model that the runner does not serve is refused', () => {
    const step = (model: string) =>
      stepOf({ context: { maxTokens: 60, strategy: 'summarise', summary: { runner: 'r', model } } })
    expect(native.inspect?.(step('small'), seatOf())).toEqual({ status: 'compiled' })
    expect(native.inspect?.(step('gone'), seatOf())).toMatchObject({
      status: 'refused',
      code: 'UNRESOLVED_REF',
      value: 'gone',
      path: 'context.summary.model',
      try: expect.stringContaining('small'),
    })
  })
  test('the header of controls travels while controls are on', () => {
    expect(native.headers?.(stepOf({ controllability: { header: 'x-how' } }))).toEqual(['x-how'])
    expect(native.headers?.(stepOf({ controllability: { enabled: false } }))).toEqual([])
  })
  test('claims travel that a name or a path could find', () => {
    const text =
      '{{ brand }} {{ team.name }} {{ claims.role }} {{ vars.v }} {{ facts.f }} {{ tenant }} {{ now_utc }} {{ x }}'
    const config = {
      templates: { a: { text } },
      variables: { brand: 1 },
      paths: { x: 'body.x', y: 'facts.dept.id', z: 'facts.claims.grade' },
      decorators: [{ role: 'user', position: 'append', text: '{{#if beta}}b{{/if}}' }],
    }
    expect(native.claims?.(stepOf(config))).toEqual(['beta', 'dept', 'grade', 'role', 'team', 'x'])
  })
})

function callOf({ body, headers = {}, principal = {}, now = 1_900_000_000_000 }: Probe<PromptRule>): Call {
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
