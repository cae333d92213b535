import fc from 'fast-check'
import { DisplayString, type Item, parseDictionary, serializeDictionary, Token } from 'structured-headers'
import { describe, expect, it } from 'vitest'
import { type Acknowledgement, acknowledgementSchema, type LayerMember, outcomes } from './acknowledgement.ts'
import { acknowledgementFromText } from './acknowledgement-read.ts'
import { textFromAcknowledgement } from './acknowledgement-text.ts'
import { sha256 } from './canonical.ts'
import { createSchema } from './schema.ts'

const id = '0123456789abcdef0123456789abcdef'
const pol = sha256('policy')
const mac = Buffer.alloc(32, 7).toString('base64')

/** The text with a mac that nobody checks here. */
function textOf(acknowledgement: Acknowledgement): string {
  const { before, after } = textFromAcknowledgement(acknowledgement)
  return `${before};mac=:${mac}:${after}`
}
const read = (text: string) => acknowledgementFromText(text)?.acknowledgement

const whole = fc.integer({ min: 0, max: 999_999_999_999_999 })
const text = fc.oneof(
  fc.string({ maxLength: 40 }),
  fc.string({ unit: 'grapheme', maxLength: 20 }),
  fc.constantFrom('', '"', '\\', '%', '%41', 'a"b\\c', 'Zoë', '租户', '\n', '\u007f', '💥', ';mac=:AAAA:'),
)
const layer = fc.record(
  {
    v: fc.integer({ min: 1, max: 65_535 }),
    m: fc.constantFrom('enforce', 'observe'),
    o: fc.constantFrom(...outcomes),
    code: fc.constantFrom('rate_limited', 'unauthenticated'),
    d: whole,
    e: fc.uint8Array({ minLength: 16, maxLength: 16 }).map((bytes) => Buffer.from(bytes).toString('base64')),
    sub: text,
    ten: text,
    tier: text,
    rsv: whole,
    rem: whole,
    bkt: text,
    used: whole,
  },
  { requiredKeys: [] },
) as fc.Arbitrary<LayerMember>
const layerName = fc.stringMatching(/^[a-z][a-z0-9-]{0,20}$/).filter((name) => name !== 'runner' && name !== 'usage')
const acknowledgements = fc.record(
  {
    runner: fc.record(
      { boot: fc.constant('b_1'), caps: fc.constant(pol), id: fc.constant(id), pol: fc.constant(pol), dir: text },
      { requiredKeys: ['id'] },
    ),
    layers: fc.dictionary(layerName, layer, { maxKeys: 7, noNullPrototype: true }),
    usage: fc.record({ in: whole, out: whole, cached: whole }, { requiredKeys: [] }),
  },
  { requiredKeys: ['runner', 'layers'] },
) as fc.Arbitrary<Acknowledgement>

/** What a general reader of RFC 9651 makes of a dictionary: members with their parameters, in JSON. */
function generalReading(header: string): unknown {
  const plain = (value: unknown): unknown =>
    value instanceof ArrayBuffer
      ? Buffer.from(value).toString('base64')
      : value instanceof Token || value instanceof DisplayString
        ? value.toString()
        : value
  return Object.fromEntries(
    [...parseDictionary(header)].map(([name, item]) => [
      name,
      Object.fromEntries([...(item as Item)[1]].map(([key, value]) => [key, plain(value)])),
    ]),
  )
}

describe('the text of an acknowledgement', () => {
  it('is read as it was meant, by us', () => {
    fc.assert(
      fc.property(acknowledgements, (acknowledgement) => {
        expect(read(textOf(acknowledgement))).toEqual(acknowledgement)
      }),
      { seed: 51, numRuns: 500 },
    )
  })

  it('is a dictionary of RFC 9651 in canonical form, to any reader of those', () => {
    fc.assert(
      fc.property(acknowledgements, (acknowledgement) => {
        const header = textOf(acknowledgement)
        const { runner, layers, usage } = acknowledgement
        expect(generalReading(header)).toEqual({ ...layers, runner: { ...runner, mac }, ...(usage ? { usage } : {}) })
        // The library writes the controls under 0x10 with one digit, where RFC 9651 §4.1.11 has two.
        if (!/%0[0-9a-f]/.test(header)) expect(serializeDictionary(parseDictionary(header))).toBe(header)
      }),
      { seed: 53, numRuns: 500 },
    )
  })

  it('is that of the protocol, to the letter', () => {
    const e = Buffer.alloc(16, 1).toString('base64')
    const said: Acknowledgement = {
      runner: { boot: 'b_1', caps: '9f2c', id: 'i', pol: 'p' },
      layers: {
        auth: { v: 1, m: 'enforce', o: 'pass', d: 210, sub: 'u1', ten: 't1', tier: 'free' },
        'rate-limit': { v: 1, m: 'enforce', o: 'pass', rsv: 812, rem: 9_100, bkt: 'a1b2' },
        cache: { v: 1, m: 'enforce', o: 'pass', e },
        postprocess: { v: 1, m: 'enforce', o: 'armed' },
      },
    }
    expect(textOf(said)).toBe(
      `runner;boot="b_1";caps="9f2c";id="i";pol="p";mac=:${mac}:, auth;v=1;m=enforce;o=pass;d=210;sub="u1";ten="t1";tier="free", ` +
        `rate-limit;v=1;m=enforce;o=pass;rsv=812;rem=9100;bkt="a1b2", cache;v=1;m=enforce;o=pass;e=:${e}:, postprocess;v=1;m=enforce;o=armed`,
    )
    const end: Acknowledgement = {
      runner: { id: 'i' },
      layers: { postprocess: { o: 'ok' }, 'rate-limit': { used: 640 } },
      usage: { in: 700, out: 128, cached: 512 },
    }
    expect(textOf(end)).toBe(
      `runner;id="i";mac=:${mac}:, postprocess;o=ok, rate-limit;used=640, usage;in=700;out=128;cached=512`,
    )
  })

  it('stays within its bounds, whatever it is given', () => {
    const given: Acknowledgement = {
      runner: { id, dir: 'x'.repeat(1_000) },
      layers: { auth: { d: 12.6, rem: -5, rsv: Number.NaN, used: 1e300, sub: '💥'.repeat(300), ten: '\ud800' } },
    }
    const said = read(textOf(given))
    expect(said?.layers['auth']).toMatchObject({ d: 13, rem: 0, rsv: 0, used: 999_999_999_999_999, ten: '\ufffd' })
    expect([said?.runner.dir, said?.layers['auth']?.sub]).toEqual(['x'.repeat(256), '💥'.repeat(128)])
  })

  it.each([
    '',
    'runner',
    `runner;id="${id}"`,
    `auth;v=1`,
    `runner;mac=:${mac}:`,
    `runner;id="${id}";mac=:${mac}:,auth`,
    `runner;id="${id}";mac=:${mac}:,  auth`,
    `runner;id="${id}";mac=:${mac}:,\tauth`,
    `runner;id="${id}";mac=:${mac}:, `,
    ` runner;id="${id}";mac=:${mac}:`,
    `, runner;id="${id}";mac=:${mac}:`,
    `runner; id="${id}";mac=:${mac}:`,
    `runner;id="${id}";mac=:${mac}:;mac=:${mac}:`,
    `runner;id="${id}";id="${id}";mac=:${mac}:`,
    `runner;id="${id}";mac=:${mac}:, auth;v=1, auth;v=2`,
    `runner;id="${id}";mac=:${mac}:, auth;v=01`,
    `runner;id="${id}";mac=:${mac}:, auth;v=-1`,
    `runner;id="${id}";mac=:${mac}:, auth;v=1.0`,
    `runner;id="${id}";mac=:${mac}:, auth;v=1000000000000000`,
    `runner;id="${id}";mac=:${mac}:, auth;v="1"`,
    `runner;id="${id}";mac=:${mac}:, auth;m=decide`,
    `runner;id="${id}";mac=:${mac}:, auth;o=done`,
    `runner;id="${id}";mac=:${mac}:, auth;x=1`,
    `runner;id="${id}";mac=:${mac}:, auth;constructor=1`,
    `runner;id="${id}";mac=:${mac}:, auth;v`,
    `runner;id="${id}";mac=:${mac}:, auth=1`,
    `runner;id="${id}";mac=:${mac}:, usage;v=1`,
    `runner;id="${id}";mac=:${mac}:, cache;e=:AQEB:`,
    `runner;id="${id}";mac=:${mac}:, cache;e=:AQEBAQEBAQEBAQEBAQEBAR==:`,
    `runner;id="${id}";mac=:${mac.replace('=', '')}:`,
    `runner;id="${id}";mac=:${mac.replace(/.=$/, 'd=')}:`,
    `runner;id="${id}";mac=:${mac}:, auth;sub="\u00fc"`,
    `runner;id="${id}";mac=:${mac}:, auth;sub="a\\b"`,
    `runner;id="${id}";mac=:${mac}:, auth;sub=%"%41"`,
    `runner;id="${id}";mac=:${mac}:, auth;sub=%"%C3%BC"`,
    `runner;id="${id}";mac=:${mac}:, auth;sub=%"%ff"`,
    `runner;id="${id}";mac=:${mac}:, auth;sub="${'x'.repeat(257)}"`,
    `runner;id="${id}";mac=:${mac}:, Auth;v=1`,
  ])('%j is none', (header) => {
    expect(acknowledgementFromText(header)).toBeUndefined()
  })

  it('is read in linear time, however it is written', () => {
    for (const text of [
      'a, '.repeat(4_000),
      `runner;id="${'\\"'.repeat(6_000)}`,
      ';v=1'.repeat(3_000),
      `runner${';dir="x"'.repeat(1_000)}`,
    ]) {
      const start = performance.now()
      expect(acknowledgementFromText(text)).toBeUndefined()
      expect(performance.now() - start).toBeLessThan(250)
    }
  })

  it('no text at all makes it throw', () => {
    const pieces = fc.constantFrom(
      'runner',
      'auth',
      ';',
      ', ',
      'id',
      '=',
      '"',
      'mac',
      ':',
      'AAAA',
      '%"',
      '%c3',
      '1',
      '\\',
      ' ',
    )
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 40 }), (some) => {
        expect(acknowledgementFromText(some.join(''))).toBeUndefined()
      }),
      { seed: 57, numRuns: 1_000 },
    )
  })

  it('is what its schema says', () => {
    const schema = createSchema<Acknowledgement>(acknowledgementSchema)
    fc.assert(
      fc.property(acknowledgements, (acknowledgement) => {
        expect(schema.faults(JSON.parse(JSON.stringify(acknowledgement)))).toEqual([])
      }),
      { seed: 59 },
    )
  })
})
