import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { body, context, instant, key, opening, outcomeOf, secretKey, versions } from './execution-context.support.ts'
import { type ContextOpening, openContext, replayIdentity } from './execution-context-open.ts'
import type { SigningKey } from './jws-key.ts'
import { createReplaySet } from './replay-set.ts'

const open = (header: string | undefined, over: Partial<ContextOpening> = {}): string =>
  outcomeOf(openContext(header, opening(over)))

/** A send in the making: what is signed, by whom and under which header, and where it arrives. */
interface Send {
  readonly payload: Record<string, unknown>
  readonly header: Record<string, unknown>
  readonly signing: { by: SigningKey; after: (token: string) => string }
  readonly arrives: ContextOpening
}
type Fault = (send: Send) => void

const set =
  <Part extends keyof Send>(part: Part, members: Partial<Send[Part]>): Fault =>
  (send) => {
    Object.assign(send[part], members)
  }
const drop =
  (part: 'payload' | 'arrives', member: string): Fault =>
  (send) => {
    Reflect.deleteProperty(send[part], member)
  }
const setVersion =
  (layer: string, version?: number): Fault =>
  ({ arrives }) => {
    const layers = new Map([...arrives.layers].filter(([name]) => name !== layer))
    if (version !== undefined) layers.set(layer, version)
    Object.assign(arrives, { layers })
  }
const long = Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`c${at}`, 'x'.repeat(100)]))

/** The policy, with one layer that could not be compiled. */
const lesser = new Map([[context.pol, { versions: new Map([...versions].filter(([layer]) => layer !== 'cache')) }]])

/** Each check in its order, with ways to fail it that leave the others as they are. */
const checks: readonly (readonly [code: string, ...ways: Fault[]])[] = [
  ['too-large', set('payload', { facts: { claims: long } })],
  [
    'invalid',
    set('signing', { after: (token) => `${token}=` }),
    set('signing', { after: (token) => token.replace('.', '..') }),
    set('header', { typ: 'JWT' }),
    set('header', { crit: ['b64'] }),
  ],
  ['signature', set('header', { kid: 'k9' }), set('header', { alg: 'none' }), set('header', { alg: 'EdDSA' })],
  ['signature', set('signing', { by: secretKey('k1', 9) })],
  ['audience', set('payload', { aud: 'b_2' }), set('payload', { aud: ['b_1'] }), drop('payload', 'aud')],
  [
    'expired',
    set('payload', { iat: context.iat - 60, exp: context.iat - 30 }),
    set('payload', { exp: context.iat + 61 }),
    set('payload', { iat: context.iat + 32, exp: context.iat + 40 }),
    set('payload', { exp: context.iat }),
    set('payload', { iat: '1790000000' }),
    drop('payload', 'exp'),
  ],
  [
    'invalid',
    set('payload', { nonce: 'x' }),
    set('payload', { attempt: 0 }),
    set('payload', { reads: { cache: { size: 1 } } }),
    set('payload', { v: 2 }),
    drop('payload', 'now'),
  ],
  [
    'body',
    set('arrives', { body: Buffer.concat([body, Buffer.from(' ')]) }),
    set('arrives', { body: Buffer.alloc(0) }),
  ],
  ['replay', ({ arrives }) => void arrives.replay.record(replayIdentity(context), instant + 40_000, instant)],
  ['credential', set('arrives', { credential: 'Bearer other' }), drop('arrives', 'credential'), drop('payload', 'crd')],
  ['policy-unknown', set('payload', { pol: 'f'.repeat(64) }), set('payload', { pol: '0'.repeat(64) })],
  [
    'unsupported-layer',
    set('payload', { modes: { ...context.modes, review: 'enforce' } }),
    setVersion('cache'),
    set('arrives', { policies: lesser }),
  ],
  ['unsupported-version', setVersion('prompt', 2), setVersion('auth', 7)],
]
const faults = checks.flatMap(([code, ...ways], check) =>
  ways.map((fault, way) => ({ check, code, fault, name: `${code} ${way + 1}` })),
)

function sentWith(some: readonly Fault[]): string {
  const send: Send = {
    payload: { ...context },
    header: { alg: 'HS256', kid: 'k1', typ: 'exec-ctx+jws' },
    signing: { by: key, after: (token) => token },
    arrives: opening(),
  }
  for (const fault of some) fault(send)
  const segment = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const input = `${segment(send.header)}.${segment(send.payload)}`
  const token = send.signing.after(`${input}.${send.signing.by.sign(input, 'base64url')}`)
  return outcomeOf(openContext(token, send.arrives))
}

describe('the checks have one order', () => {
  it('without a fault the context is taken, and each fault alone names its code', () => {
    expect(sentWith([])).toBe('ok')
    expect(faults.map(({ fault, name }) => `${name}: ${sentWith([fault])}`)).toEqual(
      faults.map(({ code, name }) => `${name}: ${code}`),
    )
  })

  it('of any two faults the one that is checked first names the code', () => {
    const pairs = faults.flatMap((first) =>
      faults.filter(({ check }) => check > first.check).map((second) => [first, second] as const),
    )
    expect(pairs.length).toBeGreaterThan(400)
    for (const [first, second] of pairs) {
      const said = [sentWith([first.fault, second.fault]), sentWith([second.fault, first.fault])]
      if (said.some((each) => each !== first.code)) expect.fail(`${said} for ${first.name} and ${second.name}`)
    }
  })

  it('of any set of faults the one that is checked first names the code', () => {
    const sets = fc.tuple(...checks.map(([, ...ways]) => fc.option(fc.constantFrom(...ways), { freq: 2 })))
    fc.assert(
      fc.property(sets, fc.boolean(), (ways, turned) => {
        const some = ways.filter((way) => way !== null)
        const first = ways.findIndex((way) => way !== null)
        expect(sentWith(turned ? some.toReversed() : some)).toBe(first < 0 ? 'ok' : checks[first]?.[0])
      }),
      { seed: 23, numRuns: 1_000 },
    )
  })

  it('a set without room stands where replay stands', () => {
    const full = set('arrives', { replay: createReplaySet(0) })
    expect(sentWith([full])).toBe('no-capacity')
    const replay = checks.findIndex(([code]) => code === 'replay')
    for (const { check, code, fault, name } of faults) {
      if (code === 'replay') continue
      const expected = check < replay ? code : 'no-capacity'
      expect(`${name}: ${sentWith([fault, full])}`).toBe(`${name}: ${expected}`)
    }
  })

  it('no context is missing, whatever else is wrong', () => {
    expect([open(undefined, { replay: createReplaySet(0) }), open('', { aud: 'b_2' })]).toEqual(['missing', 'missing'])
  })

  it('a signed payload that is no object is invalid before anything is read from it', () => {
    const segment = (text: string | Buffer): string => Buffer.from(text as string).toString('base64url')
    const header = segment('{"alg":"HS256","kid":"k1","typ":"exec-ctx+jws"}')
    const twice = JSON.stringify(context).replace('{', '{"attempt":2,')
    for (const payload of ['', 'null', '[]', '{', twice, Buffer.from([0x7b, 0xff])]) {
      const input = `${header}.${segment(payload)}`
      const opened = openContext(`${input}.${key.sign(input, 'base64url')}`, opening())
      expect(opened).toMatchObject({ ok: false, refusal: { code: 'invalid', detail: /payload/ } })
    }
  })

  it('JSON that a client put into the header is invalid, not a context', () => {
    expect(open('{"routing":{"model-a":0.7}}')).toBe('invalid')
  })
})
