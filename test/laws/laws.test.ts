import fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import { type Call, createCall, type Facts } from '../../plugins/call.ts'
import type { Completion } from '../../plugins/chunks.ts'
import { GatewayError, gatewayError } from '../../plugins/errors.ts'
import { layers } from '../../plugins/index.ts'
import type { Acting, Layer, Mode } from '../../plugins/layer.ts'
import { type Reply, replyFromCompletion } from '../../plugins/reply.ts'
import { through } from '../../plugins/stack.ts'
import type { Verdict } from '../../plugins/verdict.ts'
import { createTestHost, type TestHost, type TestHostOverrides } from '../support/host.ts'
import { type LawCase, lawCases, secretConfigs } from './cases.ts'

const all: readonly Layer[] = layers

const hosts: TestHost[] = []
const open: Acting[] = []
afterEach(async () => {
  for (const host of hosts.splice(0)) host.end()
  await Promise.all(open.splice(0).map((acting) => acting.close?.()))
})

const board = {
  names: ['a', 'b'],
  state: () => ({ available: true, retryAfterMs: 0, outstandingTokens: 0 }),
  ask: async () => '',
}

async function opened(
  layer: Layer,
  config: unknown,
  more: TestHostOverrides = {},
): Promise<{ acting: Acting; host: TestHost }> {
  const host = createTestHost({ runners: board, ...more })
  hosts.push(host)
  const acting = await layer.open(layer.config.parse(config), host)
  open.push(acting)
  return { acting, host }
}

let calls = 0
function callOf(
  body: Buffer | unknown,
  headers: Readonly<Record<string, string>> = {},
  signal = new AbortController().signal,
): Call {
  const principal: Facts['principal'] = {
    id: 'u',
    tenant: 't1',
    tier: 'free',
    scopes: [],
    claims: {},
    method: 'api-key',
  }
  return createCall({
    id: `law-${++calls}`,
    route: 'chat',
    now: 1_800_000_000_000,
    body: Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify(body)),
    headers: { 'content-type': 'application/json', ...headers },
    facts: { client_ip: '203.0.113.7', peer: '203.0.113.7', principal },
    signal,
  })
}

const completion: Completion = {
  id: 'c',
  object: 'chat.completion',
  model: 'small',
  choices: [{ index: 0, message: { role: 'assistant', content: 'all is well' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 3, completion_tokens: 3, total_tokens: 6 },
}
const answer = async (): Promise<Reply> =>
  replyFromCompletion({ status: 200, streamed: false, source: 'runner' }, completion)

interface Turned {
  readonly verdicts: readonly Verdict[]
  readonly text: string | undefined
  readonly releases: number
}

/** One call through one layer, to its end, however that comes. */
async function turn(
  name: string,
  acting: Acting,
  how: { call: Call; mode?: Mode; inside?: () => Promise<Reply> },
): Promise<Turned> {
  const verdicts: Verdict[] = []
  let releases = 0
  const counting: Acting = {
    ...acting,
    release(call) {
      releases++
      acting.release?.(call)
    },
  }
  let text: string | undefined
  try {
    const reply = await through([{ name, acting: counting, mode: how.mode ?? 'enforce' }], how.call, {
      inside: how.inside ?? answer,
      witness: { heard: (_, verdict) => void verdicts.push(verdict) },
    })
    text = ''
    for await (const part of reply.bytes()) text += part.toString()
  } catch (reason) {
    expect(reason).toBeInstanceOf(GatewayError)
  }
  return { verdicts, text, releases }
}

const cases = all.flatMap((layer) =>
  (lawCases[layer.name] ?? []).map((each) => [`${layer.name}: ${each.title}`, layer, each] as const),
)

it('every layer is held to the laws', () => {
  expect(all.map(({ name }) => name).filter((name) => !lawCases[name])).toEqual([])
})

describe('law 1, strict: an unknown key and a wrong type are refused with their path', () => {
  it.each(cases)('%s', (_, layer, { config }) => {
    expect(layer.config.faults({ ...(config as object), surprise: 1 }).map(({ path }) => path)).toContain('surprise')
    for (const [key, value] of Object.entries(layer.config.parse(config) as object)) {
      if (value === null) continue
      const faults = layer.config.faults({ ...(config as object), [key]: Symbol.for('wrong') as unknown })
      expect(faults.map(({ path }) => path.split(/[.[]/)[0])).toContain(key)
    }
  })
})

describe('law 2, total: whatever the body, there is a verdict or a GatewayError', () => {
  it.each(cases)('%s', async (_, layer, { config, headers }) => {
    const { acting } = await opened(layer, config)
    const bodies = fc.oneof(
      fc.json().map((text) => Buffer.from(text)),
      fc.uint8Array({ maxLength: 64 }).map((bytes) => Buffer.from(bytes)),
      fc.record({
        model: fc.constant('small'),
        messages: fc.array(fc.record({ role: fc.string({ minLength: 1 }), content: fc.jsonValue() }), { minLength: 1 }),
      }),
    )
    await fc.assert(
      fc.asyncProperty(bodies, async (body) => {
        const { verdicts } = await turn(layer.name, acting, { call: callOf(body, headers) })
        for (const verdict of verdicts) {
          expect(['pass', 'answer', 'refuse']).toContain(verdict.kind)
          if (verdict.kind === 'refuse') expect(verdict.error.status, verdict.error.message).not.toBe(500)
        }
      }),
      { seed: 5, numRuns: 60 },
    )
  })
})

/** The step of a case, folded as the gateway does. */
function folded(layer: Layer, config: unknown): unknown {
  const { declared, conversationHeader, file } = createTestHost()
  const secret = (path: string): string => path.split('/').at(-1) as string
  return layer.fold?.(layer.config.parse(config), { declared, conversationHeader, file, secret })
}

/** Every text in a value, names of members included. */
function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  if (value === null || typeof value !== 'object') return []
  return Object.entries(value).flatMap(([name, member]) => [name, ...textsIn(member)])
}

describe('law 3, pure fold: the same configuration gives the same step, which survives JSON and its own schema', () => {
  it.each(cases)('%s', (_, layer, { config }) => {
    const step = folded(layer, config)
    expect(folded(layer, structuredClone(config))).toEqual(step)
    expect(JSON.parse(JSON.stringify(step))).toEqual(step)
    expect(layer.native?.step.faults(step)).toEqual([])
    expect(layer.native?.step.faults({ ...(step as object), surprise: 1 })).not.toEqual([])
  })
})

describe('law 4, rule, not result: a step is made without any call, and holds no fact of one', () => {
  it.each(cases)('%s', async (_, layer, { config, headers, bodies }) => {
    const before = folded(layer, config)
    const { acting } = await opened(layer, config)
    for (const body of bodies) await turn(layer.name, acting, { call: callOf(body, headers) })
    expect(folded(layer, config)).toEqual(before)
    const facts = ['203.0.113.7', 'law-']
    expect(textsIn(before).filter((text) => facts.some((fact) => text.includes(fact)))).toEqual([])
  })
})

describe('law 9, no secrets: a step holds no configured secret; it names it', () => {
  const secretCases = all.flatMap((layer) =>
    Object.hasOwn(secretConfigs, layer.name) ? [[layer.name, layer, secretConfigs[layer.name]] as const] : [],
  )
  it.each(secretCases)('%s', (_, layer, config) => {
    const { declared, conversationHeader } = createTestHost()
    const asked: string[] = []
    const step = layer.fold?.(layer.config.parse(config), {
      declared,
      conversationHeader,
      file: () => Buffer.from('not to be read'),
      secret(path) {
        asked.push(path)
        return path.split('/').at(-1) as string
      },
    })
    expect(asked.length).toBeGreaterThan(0)
    const texts = textsIn(step)
    for (const path of asked) expect(texts).toContain(path.split('/').at(-1))
    expect(texts.filter((text) => text.includes('/run/secrets') || text.includes('not to be read'))).toEqual([])
  })
})

describe('law 7, honest facts: a layer writes only what it declares', () => {
  it.each(cases)('%s', async (_, layer, { config, headers, bodies }) => {
    const { acting } = await opened(layer, config)
    for (const body of bodies) {
      const { verdicts } = await turn(layer.name, acting, { call: callOf(body, headers) })
      expect(verdicts.length).toBeLessThanOrEqual(1)
      for (const verdict of verdicts) {
        if (verdict.kind !== 'pass') continue
        expect(layer.writes).toEqual(expect.arrayContaining(Object.keys(verdict.facts)))
        if (verdict.request) expect(layer.rewrites).toBe(true)
      }
      if (!layer.answers) expect(verdicts.map(({ kind }) => kind)).not.toContain('answer')
    }
  })
})

describe('law 6, affects nobody: an observer changes no verdict and no reply, and does nothing outside (scenario 15) (I3)', () => {
  it.each(cases)('%s', async (_, layer, each: LawCase) => {
    const alone = await story(layer, each, [])
    const watched = await story(layer, each, ['observe', 'observe'])
    expect(watched.enforced).toEqual(alone.enforced)
    expect(watched.sent).toEqual(alone.sent)
    expect(watched.observed.map((text) => JSON.parse(text ?? 'null'))).toEqual(watched.observed.map(() => completion))
  })
})

/** The same calls on a fresh layer, each preceded by the given observers; what the enforcing side said and gave out. */
async function story(layer: Layer, { config, headers, bodies }: LawCase, before: readonly Mode[]) {
  const { acting, host } = await opened(layer, config)
  const { store, clock, http } = host
  // An observer is the other side's half: both count in one store, apart.
  const beside = await opened(layer, config, { store, clock, http, side: 'runner' })
  const enforced: unknown[] = []
  const observed: (string | undefined)[] = []
  for (const body of [...bodies, ...bodies]) {
    for (const mode of before)
      observed.push((await turn(layer.name, beside.acting, { call: callOf(body, headers), mode })).text)
    const { verdicts, text } = await turn(layer.name, acting, { call: callOf(body, headers) })
    enforced.push(
      verdicts.map((verdict) => (verdict.kind === 'refuse' ? verdict.error.code : verdict.kind)),
      text,
    )
  }
  return { enforced, observed, sent: host.sent.length }
}

describe('law 8, once over: release runs exactly once', () => {
  const failing = async (): Promise<Reply> => Promise.reject(gatewayError('runner_error', 'broken'))

  it.each(cases)('%s', async (_, layer, { config, headers, bodies }) => {
    const { acting } = await opened(layer, config)
    for (const body of bodies) {
      expect((await turn(layer.name, acting, { call: callOf(body, headers) })).releases).toBe(1)
      expect((await turn(layer.name, acting, { call: callOf(body, headers), inside: failing })).releases).toBe(1)
      const caller = new AbortController()
      const leaving = async (): Promise<Reply> => {
        caller.abort()
        return answer()
      }
      const call = callOf(body, headers, caller.signal)
      expect((await turn(layer.name, acting, { call, inside: leaving })).releases).toBe(1)
    }
  })
})
