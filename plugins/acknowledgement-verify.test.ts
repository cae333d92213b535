import { describe, expect, it } from 'vitest'
import type { Acknowledgement, LayerMember } from './acknowledgement.ts'
import {
  type Acknowledged,
  type Asked,
  acknowledgementKey,
  sealAcknowledgement,
  verifyAcknowledgement,
  verifyAcknowledgementEnd,
} from './acknowledgement-verify.ts'
import { context, key, pairKey, pol, secretKey, versions } from './execution-context.support.ts'
import type { SigningKey } from './jws-key.ts'

const macKey = acknowledgementKey(key)
const asked: Asked = { context, key: macKey, versions }
const layers: Record<string, LayerMember> = Object.fromEntries(
  Object.entries(context.modes).map(([layer, m]) => [layer, { v: 1, m, o: 'pass' }]),
)
const said: Acknowledgement = { runner: { boot: 'b_1', caps: pol, id: context.id, pol }, layers }
const seal = (acknowledgement: Acknowledgement, by: SigningKey = macKey): string =>
  sealAcknowledgement(acknowledgement, context, { part: 'head', key: by })
const without = (...names: string[]) =>
  Object.fromEntries(Object.entries(layers).filter(([name]) => !names.includes(name)))
const kindOf = (result: Acknowledged): string =>
  result.ok ? 'ok' : [result.mismatch, result.layer].filter(Boolean).join(' ')
const verify = (text: string | undefined, over: Partial<Asked> = {}): string =>
  kindOf(verifyAcknowledgement(text, { ...asked, ...over }))

describe('verifyAcknowledgement()', () => {
  it('what was asked and done is acknowledged', () => {
    expect(verifyAcknowledgement(seal(said), asked)).toEqual({ ok: true, acknowledgement: said })
  })

  it('any byte of it changed is refused, at every position', () => {
    const text = seal({ ...said, runner: { ...said.runner, dir: 'routing."x".weight' }, usage: { in: 7, out: 3 } })
    expect(verify(text)).toBe('ok')
    for (let at = 0; at < text.length; at += 1) {
      const code = text.charCodeAt(at)
      const near = [code + 1, code - 1, code ^ 0x20, code ^ 1].map((each) => String.fromCharCode(each))
      for (const other of [...near, 'A', '0', '9', ' ', '\t', ';', ',', '"', ':', '=', '\u00e9']) {
        if (other === text[at]) continue
        if (verify(text.slice(0, at) + other + text.slice(at + 1)) === 'ok')
          expect.fail(`taken with ${JSON.stringify(other)} at ${at}`)
      }
      if (verify(text.slice(0, at) + text.slice(at + 1)) === 'ok') expect.fail(`taken without ${at}`)
      if (verify(`${text.slice(0, at)} ${text.slice(at)}`) === 'ok') expect.fail(`taken with a space at ${at}`)
    }
  })

  it.each<[string, string | undefined, Partial<Asked>?]>([
    ['absent', undefined],
    ['absent', ''],
    ['too-large', 'x'.repeat(12_289)],
    ['form', 'runner'],
    ['form', `${seal(said)}, auth;v=1`],
    ['call', seal({ ...said, runner: { ...said.runner, id: 'f'.repeat(32) } })],
    ['policy', seal({ ...said, runner: { ...said.runner, pol: 'f'.repeat(64) } })],
    ['policy', seal({ ...said, runner: { boot: 'b_1', id: context.id } })],
    ['boot', seal({ ...said, runner: { ...said.runner, boot: 'b_2' } })],
    ['mac', seal(said, acknowledgementKey(secretKey('k1', 9)))],
    ['mac', seal(said, key)],
    ['layer-unasked review', seal({ ...said, layers: { ...layers, review: { v: 1, m: 'enforce', o: 'pass' } } })],
    [
      'layer-unasked constructor',
      seal({ ...said, layers: { ...layers, constructor: { v: 1, m: 'enforce', o: 'pass' } as never } }),
    ],
    ['layer-missing cache', seal({ ...said, layers: without('cache', 'prompt') })],
    ['layer-missing auth', seal({ ...said, layers: {} })],
    ['layer-missing cache', seal({ ...said, layers: { ...layers, cache: { v: 1, m: 'enforce' } } })],
    ['mode cache', seal({ ...said, layers: { ...layers, cache: { v: 1, m: 'observe', o: 'pass' } } })],
    ['mode rate-limit', seal({ ...said, layers: { ...layers, 'rate-limit': { v: 1, m: 'enforce', o: 'pass' } } })],
    ['mode cache', seal({ ...said, layers: { ...layers, cache: { v: 1, o: 'pass' } } })],
    ['version cache', seal({ ...said, layers: { ...layers, cache: { v: 2, m: 'enforce', o: 'pass' } } })],
    ['version cache', seal({ ...said, layers: { ...layers, cache: { m: 'enforce', o: 'pass' } } })],
  ])('%s', (mismatch, text, over) => {
    expect(verify(text, over)).toBe(mismatch)
  })

  it('of several faults the first in that order is named', () => {
    const wrong = { ...said, runner: { ...said.runner, id: 'f'.repeat(32), boot: 'b_2' }, layers: {} }
    expect(verify(seal(wrong, key))).toBe('call')
    expect(verify(seal({ ...said, layers: {} }, key))).toBe('mac')
    expect(verify(seal({ ...said, layers: { ...without('auth'), review: {} } }))).toBe('layer-unasked review')
  })

  it('belongs to one send of the call: not another attempt, nor the copy, nor the final part', () => {
    const text = seal(said)
    expect(verify(text, { context: { ...context, attempt: 2 } })).toBe('mac')
    expect(verify(text, { context: { ...context, shadow: true } })).toBe('mac')
    expect(kindOf(verifyAcknowledgementEnd(text, asked, said))).toBe('mac')
  })

  it.each(['answer', 'refuse'] as const)(
    'layers that an enforcing layer kept the call from by its %s may be missing',
    (o) => {
      const cache: LayerMember = { v: 1, m: 'enforce', o, ...(o === 'refuse' ? { code: 'invalid_request' } : {}) }
      expect(verify(seal({ ...said, layers: { ...without('routing', 'prompt'), cache } }))).toBe('ok')
      expect(verify(seal({ ...said, layers: { ...without('rate-limit', 'prompt'), cache } }))).toBe(
        'layer-missing rate-limit',
      )
    },
  )

  it('an observer keeps the call from nobody', () => {
    const observed = {
      ...without('cache', 'routing', 'prompt'),
      'rate-limit': { v: 1, m: 'observe', o: 'refuse' } as LayerMember,
    }
    expect(verify(seal({ ...said, layers: observed }))).toBe('layer-missing cache')
  })

  it('where contexts are EdDSA the runner signs with its own key, and no HMAC is derived from a public one', () => {
    const own = pairKey('ack', 5)
    expect(verify(seal(said, own), { key: own })).toBe('ok')
    expect(verify(seal(said, pairKey('ack', 6)), { key: own })).toBe('mac')
    expect(verify(seal(said), { key: own })).toBe('mac')
    expect(() => acknowledgementKey(own)).toThrow(/not a shared secret/)
  })

  it('the derived key is not the context’s, so that neither text passes for the other', () => {
    expect(macKey.sign('x', 'base64')).not.toBe(key.sign('x', 'base64'))
    expect(macKey.sign('x', 'base64')).toBe(acknowledgementKey(secretKey('other', 1)).sign('x', 'base64'))
  })
})

describe('verifyAcknowledgementEnd()', () => {
  const head: Acknowledgement = { ...said, layers: { ...layers, prompt: { v: 1, m: 'enforce', o: 'armed' } } }
  const end = (members: Record<string, LayerMember>, runner = { id: context.id }): string =>
    sealAcknowledgement({ runner, layers: members, usage: { in: 7, out: 3 } }, context, { part: 'end', key: macKey })
  const ending = (text: string | undefined): string => kindOf(verifyAcknowledgementEnd(text, asked, head))

  it('an armed layer says how it ended', () => {
    expect(ending(end({ prompt: { o: 'ok' }, 'rate-limit': { used: 640 } }))).toBe('ok')
    expect(ending(end({ prompt: { o: 'failed', code: 'output_invalid' } }))).toBe('ok')
    expect(ending(end({ 'rate-limit': { used: 640 } }))).toBe('layer-missing prompt')
    expect(ending(end({ prompt: { o: 'armed' } }))).toBe('layer-missing prompt')
    expect(ending(undefined)).toBe('absent')
  })

  it('does not take back what the start has said, nor speak of others', () => {
    expect(ending(end({ prompt: { o: 'ok', m: 'observe' } }))).toBe('mode prompt')
    expect(ending(end({ prompt: { o: 'ok', v: 2 } }))).toBe('version prompt')
    expect(ending(end({ prompt: { o: 'ok' }, review: { o: 'ok' } }))).toBe('layer-unasked review')
  })

  it('any byte of it changed is refused', () => {
    const text = end({ prompt: { o: 'ok' }, 'rate-limit': { used: 640 } })
    for (let at = 0; at < text.length; at += 1) {
      const other = text[at] === '1' ? '2' : '1'
      if (ending(text.slice(0, at) + other + text.slice(at + 1)) === 'ok') expect.fail(`taken at ${at}`)
    }
  })

  it('is of the same call and instance', () => {
    expect(ending(end({ prompt: { o: 'ok' } }, { id: 'f'.repeat(32) }))).toBe('call')
    expect(ending(end({ prompt: { o: 'ok' } }, { id: context.id, boot: 'b_2' } as { id: string }))).toBe('boot')
  })
})
