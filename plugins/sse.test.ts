import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createEventAligner, createSseReader, type SseEvent, textFromEvent } from './sse.ts'

const read = (parts: readonly Buffer[], cap?: number): { events: SseEvent[]; beats: number } => {
  const reader = createSseReader(cap)
  const batches = [...parts.map((part) => reader.push(part)), reader.end()]
  return { events: batches.flatMap((batch) => batch.events), beats: batches.filter((batch) => batch.commented).length }
}

const cutEverywhere = (bytes: Buffer): Buffer[][] =>
  Array.from({ length: bytes.length + 1 }, (_, at) => [bytes.subarray(0, at), bytes.subarray(at)])

describe('createSseReader()', () => {
  it('gives the same events whatever the cut, characters of several bytes included', () => {
    const bytes = Buffer.from('data: {"a":"北🙂"}\n\ndata: [DONE]\n\n')
    for (const parts of cutEverywhere(bytes)) {
      expect(read(parts).events.map((event) => event.data)).toEqual(['{"a":"北🙂"}', '[DONE]'])
    }
  })

  it.each([
    ['CRLF', 'data: x\r\n\r\ndata: y\r\n\r\n'],
    ['CR', 'data: x\r\rdata: y\r\r'],
    ['mixed', 'data: x\r\n\ndata: y\n\n'],
    ['no space', 'data:x\n\ndata:y\n\n'],
  ])('ends lines as %s', (_, text) => {
    for (const parts of cutEverywhere(Buffer.from(text))) {
      expect(read(parts).events.map((event) => event.data)).toEqual(['x', 'y'])
    }
  })

  it('says that a comment came and never makes an event of it', () => {
    expect(read([Buffer.from(': wait\n\n')])).toEqual({ events: [], beats: 1 })
  })

  it('gives out the last event though its blank line is missing', () => {
    expect(read([Buffer.from('data: x')]).events.map((event) => event.data)).toEqual(['x'])
  })

  it('refuses a line beyond the cap that could become nothing, in however many reads', () => {
    const reader = createSseReader(10_000)
    const rubbish = Buffer.from('x'.repeat(1_000))
    expect(() => {
      for (let i = 0; i < 20; i++) reader.push(rubbish)
    }).toThrow(/longer than 10000 bytes/)
  })

  it('refuses an event beyond the cap', () => {
    expect(() => read([Buffer.from(`data: ${'x'.repeat(200)}`)], 100)).toThrow(/longer than 100 bytes/)
  })
})

describe('textFromEvent()', () => {
  it('is read back as the same event', () => {
    fc.assert(
      fc.property(
        fc.string().filter((text) => !text.includes('\r')),
        (data) => {
          const { events } = read([Buffer.from(textFromEvent({ event: 'e', id: '7', data }))])
          expect(events).toEqual([{ event: 'e', id: '7', data }])
        },
      ),
      { seed: 7 },
    )
  })
})

describe('createEventAligner()', () => {
  const pieces = ['data: one\n\n', 'data: two\r\n\r\n', ': beat\n\n', 'data: three\n\n', 'data: 北\n\n']

  it('keeps every byte in order and cuts only between events', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...pieces), { maxLength: 8 }), fc.array(fc.nat(60)), (chosen, cuts) => {
        const bytes = Buffer.from(chosen.join(''))
        const aligner = createEventAligner()
        const out: Buffer[] = []
        let at = 0
        for (const cut of [...cuts, bytes.length]) {
          const whole = aligner.push(bytes.subarray(at, at + cut))
          at += cut
          if (whole) {
            out.push(whole)
            expect(Buffer.concat(out).toString()).toMatch(/[\n\r]$/)
          }
        }
        const rest = aligner.rest()
        expect(Buffer.concat(rest ? [...out, rest] : out).equals(bytes.subarray(0, at))).toBe(true)
      }),
      { seed: 11 },
    )
  })

  it('holds back an event that is not whole', () => {
    const aligner = createEventAligner()
    expect(aligner.push(Buffer.from('data: a\n\ndata: b'))?.toString()).toBe('data: a\n\n')
    expect(aligner.push(Buffer.from('c\n'))).toBeUndefined()
    expect(aligner.push(Buffer.from('\n'))?.toString()).toBe('data: bc\n\n')
  })

  it('lets a heartbeat without a blank line go at once', () => {
    expect(createEventAligner().push(Buffer.from(':\n'))?.toString()).toBe(':\n')
    expect(createEventAligner().push(Buffer.from('data: a\n\n: wait\n'))?.toString()).toBe('data: a\n\n: wait\n')
  })

  it('refuses a line beyond the cap that could become nothing, in however many reads', () => {
    const reader = createSseReader(10_000)
    const rubbish = Buffer.from('x'.repeat(1_000))
    expect(() => {
      for (let i = 0; i < 20; i++) reader.push(rubbish)
    }).toThrow(/longer than 10000 bytes/)
  })

  it('refuses an event beyond the cap', () => {
    const aligner = createEventAligner(100)
    expect(() => aligner.push(Buffer.alloc(101, 'x'))).toThrow(/longer than 100 bytes/)
  })
})

describe('a comment between events', () => {
  it.each([
    ['in one read', [': wait\n'], ': wait\n'],
    ['cut in two', [': wa', 'it\n'], ': wait\n'],
    ['ended by CR', [': wait\r'], ': wait\r'],
    ['ended by CRLF', [':', '\r\n'], ':\r\n'],
  ])('goes on at once when it came %s', (_, parts, whole) => {
    const aligner = createEventAligner()
    aligner.push(Buffer.from('data: a\n\n'))
    const out = parts.map((part) => aligner.push(Buffer.from(part))?.toString() ?? '').join('')
    expect(out).toBe(whole)
    expect(aligner.rest()).toBeUndefined()
  })

  it('waits when it stands inside an event', () => {
    const aligner = createEventAligner()
    expect(aligner.push(Buffer.from('data: a\n'))).toBeUndefined()
    expect(aligner.push(Buffer.from(': wait\n'))).toBeUndefined()
    expect(aligner.push(Buffer.from('data: b\n\n'))?.toString()).toBe('data: a\n: wait\ndata: b\n\n')
  })
})
