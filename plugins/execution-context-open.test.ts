import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createManualClock } from '../test/support/clock.ts'
import {
  body,
  context,
  credential,
  instant,
  key,
  opening,
  outcomeOf,
  pairKey,
  secretKey,
} from './execution-context.support.ts'
import { bodyDigest, type ExecutionContext } from './execution-context.ts'
import { type ContextOpening, openContext } from './execution-context-open.ts'
import { sealContext } from './execution-context-seal.ts'
import { createKeyRing, type SigningKey } from './jws-key.ts'
import { createReplaySet } from './replay-set.ts'

const seal = (over: Partial<ExecutionContext> = {}, by: SigningKey = key): string => {
  const sealed = sealContext({ ...context, ...over }, by)
  return sealed.ok ? sealed.header : sealed.detail
}
const open = (header: string | undefined, over: Partial<ContextOpening> = {}): string =>
  outcomeOf(openContext(header, opening(over)))

describe('every single change of a sealed context is refused', () => {
  const spoilt = (text: string, at: number): string[] => {
    const code = text.charCodeAt(at)
    const others = ['A', 'b', '9', '-', '_', '.', '=', '+', '/', ' ', '\t', '\n', '\0', '\u00e9', '\u0141']
    const near = [code - 1, code + 1, code ^ 0x20, code ^ 1, code ^ 0x80, (code + 4) % 128].map((each) =>
      String.fromCharCode(each),
    )
    return [...others, ...near].filter((each) => each !== text[at])
  }

  it('any byte for another, at every position', () => {
    const header = seal()
    expect(open(header)).toBe('ok')
    for (let at = 0; at < header.length; at += 1) {
      for (const other of spoilt(header, at)) {
        const result = open(header.slice(0, at) + other + header.slice(at + 1))
        if (result === 'ok') expect.fail(`taken with ${JSON.stringify(other)} at ${at}`)
      }
    }
  })

  it('a byte more, a byte less, a part of it, at every position', () => {
    const header = seal()
    for (let at = 0; at <= header.length; at += 1) {
      const [before, after] = [header.slice(0, at), header.slice(at)]
      const others = [`${before}A${after}`, `${before}.${after}`, `${before} ${after}`, before + after.slice(1), before]
      for (const other of others) if (other !== header && open(other) === 'ok') expect.fail(`taken at ${at}: ${other}`)
    }
  })

  it('under an Ed25519 key as well', () => {
    const pair = pairKey('p1', 3)
    const header = seal({}, pair)
    const keys = createKeyRing([pair])
    expect(open(header, { keys })).toBe('ok')
    for (let at = 0; at < header.length; at += 1) {
      const other = header[at] === 'A' ? 'B' : 'A'
      if (open(header.slice(0, at) + other + header.slice(at + 1), { keys }) === 'ok') expect.fail(`taken at ${at}`)
    }
  })
})

describe('times', () => {
  it('hold from 30 s before it was made until 30 s after its end', () => {
    const header = seal()
    const at = (ms: number) => open(header, { now: ms })
    expect([at(context.iat * 1_000 - 30_001), at(context.iat * 1_000 - 30_000)]).toEqual(['expired', 'ok'])
    expect([at(context.exp * 1_000 + 29_999), at(context.exp * 1_000 + 30_000)]).toEqual(['ok', 'expired'])
  })

  it('may be 60 s apart', () => {
    expect([open(seal({ exp: context.iat + 60 })), open(seal({ exp: context.iat + 61 }))]).toEqual(['ok', 'expired'])
  })
})

describe('a replay', () => {
  it('is refused for as long as the context is valid, and by its end in time afterwards', () => {
    const clock = createManualClock(instant)
    const replay = createReplaySet()
    const header = seal()
    const results: string[] = []
    for (let second = 0; second < 50; second += 1) {
      results.push(open(header, { replay, now: clock.now() }))
      // Other calls go on, so that the set turns over meanwhile.
      const iat = context.iat + second
      const other = seal({ id: second.toString(16).padStart(32, '0'), iat, exp: iat + 1 })
      expect(open(other, { replay, now: clock.now() })).toBe('ok')
      clock.advance(1_000)
    }
    // exp is 10 s after iat, and the skew 30 s; the clock stands 123 ms into the second of iat.
    expect(results.slice(0, 40)).toEqual(['ok', ...Array.from({ length: 39 }, () => 'replay')])
    expect(new Set(results.slice(40))).toEqual(new Set(['expired']))
  })

  it('is not what a gateway sends whose clock is 25 s behind, beside one whose clock is right', () => {
    const clock = createManualClock(instant)
    const replay = createReplaySet()
    for (let second = 0; second < 120; second += 1) {
      for (const behind of [0, 25]) {
        const iat = context.iat + second - behind
        const header = seal({ id: (second * 100 + behind).toString(16).padStart(32, '0'), iat, exp: iat + 10 })
        expect(open(header, { replay, now: clock.now() })).toBe('ok')
        expect(open(header, { replay, now: clock.now() })).toBe('replay')
      }
      clock.advance(1_000)
    }
  })

  it('another attempt, the shadow copy, and another call are none', () => {
    const replay = createReplaySet()
    const sends = [{}, { attempt: 2 }, { shadow: true }, { attempt: 2, shadow: true }, { id: 'f'.repeat(32) }]
    expect(sends.map((over) => open(seal(over), { replay }))).toEqual(sends.map(() => 'ok'))
    expect(sends.map((over) => open(seal(over), { replay }))).toEqual(sends.map(() => 'replay'))
  })

  it('a context is remembered once its body was right, and not before', () => {
    const replay = createReplaySet()
    expect(open(seal(), { replay, body: Buffer.from('another') })).toBe('body')
    expect(replay.size).toBe(0)
    expect(open(seal(), { replay, credential: 'wrong' })).toBe('credential')
    expect([replay.size, open(seal(), { replay })]).toEqual([1, 'replay'])
  })

  it('after an unknown policy the next attempt is taken', () => {
    const replay = createReplaySet()
    expect(open(seal(), { replay, policies: new Map() })).toBe('policy-unknown')
    expect(open(seal({ attempt: 2 }), { replay })).toBe('ok')
  })

  it('at another instance, or after a restart, is for somebody else', () => {
    expect(open(seal(), { aud: 'b_2' })).toBe('audience')
  })
})

describe('a context', () => {
  it('without a credential is taken only where none came', () => {
    const { crd: _, ...rest } = context
    const sealed = sealContext(rest, key)
    const header = sealed.ok ? sealed.header : ''
    const { credential: none, ...without } = opening()
    expect(outcomeOf(openContext(header, without))).toBe('ok')
    expect([none, open(header)]).toEqual([credential, 'credential'])
  })

  it('is for one body, byte for byte, an empty one too', () => {
    const empty = Buffer.alloc(0)
    expect(open(seal({ bod: bodyDigest(empty) }), { body: empty })).toBe('ok')
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
        expect(open(seal(), { body: Buffer.from(bytes) })).toBe(body.equals(bytes) ? 'ok' : 'body')
      }),
      { seed: 31 },
    )
  })

  it('while keys rotate is taken under either', () => {
    const keys = createKeyRing([secretKey('k1', 1), secretKey('k2', 2)])
    expect([open(seal(), { keys }), open(seal({}, secretKey('k2', 2)), { keys })]).toEqual(['ok', 'ok'])
    expect(open(seal(), { keys: createKeyRing([secretKey('k2', 2)]) })).toBe('signature')
  })

  it('an instance that takes less says so', () => {
    expect(open(seal(), { maxBytes: 512 })).toBe('too-large')
  })

  it('names the layer that cannot be executed', () => {
    const opened = openContext(seal(), opening({ layers: new Map() }))
    expect(opened).toMatchObject({ refusal: { code: 'unsupported', layer: 'auth', reason: 'unsupported-layer' } })
  })
})
