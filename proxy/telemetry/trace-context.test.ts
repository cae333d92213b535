import { describe, expect, it } from 'vitest'
import {
  contextFromTraceparent,
  newSpanId,
  newTraceId,
  traceparentFromContext,
  tracestateFrom,
} from './trace-context.ts'

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
const spanId = '00f067aa0ba902b7'
const valid = `00-${traceId}-${spanId}-01`

describe('a traceparent', () => {
  it.each([
    ['sampled', valid, 1],
    ['not sampled', `00-${traceId}-${spanId}-00`, 0],
    ['sampled with a random id', `00-${traceId}-${spanId}-03`, 3],
    ['with flags nobody knows', `00-${traceId}-${spanId}-f9`, 1],
    ['of a later version', `cc-${traceId}-${spanId}-01`, 1],
    ['of a later version with more to say', `cc-${traceId}-${spanId}-01-what-the-future-holds`, 1],
  ])('%s is honoured', (_, header, flags) => {
    expect(contextFromTraceparent(header)).toEqual({ traceId, spanId, flags })
  })

  it.each([
    ['absent', undefined],
    ['empty', ''],
    ['of upper-case trace id', `00-${traceId.toUpperCase()}-${spanId}-01`],
    ['of upper-case span id', `00-${traceId}-${spanId.toUpperCase()}-01`],
    ['of upper-case flags', `00-${traceId}-${spanId}-0A`],
    ['of an all-zero trace id', `00-${'0'.repeat(32)}-${spanId}-01`],
    ['of an all-zero span id', `00-${traceId}-${'0'.repeat(16)}-01`],
    ['of version ff', `ff-${traceId}-${spanId}-01`],
    ['of version 00 with more to say', `${valid}-more`],
    ['too short', valid.slice(0, -1)],
    ['too long', `${valid}0`],
    ['with a blank before it', ` ${valid}`],
    ['with other separators', valid.replaceAll('-', '_')],
    ['with a letter that is no hex digit', valid.replace('4bf', '4bg')],
    ['there twice', `${valid}, ${valid}`],
    ['of a later version, there twice', `cc-${traceId}-${spanId}-01-x, ${valid}`],
    ['endless', `cc-${traceId}-${spanId}-01-${'x'.repeat(100_000)}`],
  ])('that is %s begins a new trace', (_, header) => {
    expect(contextFromTraceparent(header)).toBeUndefined()
  })

  it('written from a context reads as that context', () => {
    for (const flags of [0, 1, 2, 3]) {
      const context = { traceId: newTraceId(), spanId: newSpanId(), flags }
      expect(contextFromTraceparent(traceparentFromContext(context))).toEqual(context)
    }
  })
})

describe('a tracestate', () => {
  it.each(['rojo=00f067aa0ba902b7', 'rojo=1,congo=t61rcWkgMzE', 'fw529a3039@dt=FfAAAAAAE,  a/b*c-d_e=v w', 'a=1,,b=2'])(
    'of %j goes on as it came',
    (header) => {
      expect(tracestateFrom(header)).toBe(header)
    },
  )

  it.each([
    ['absent', undefined],
    ['empty', ''],
    ['only commas', ',,'],
    ['of upper-case keys', 'Rojo=1'],
    ['without a value', 'rojo'],
    ['with two values', 'rojo=1=2'],
    ['with control characters', 'rojo=1\u0001'],
    ['of 33 members', Array.from({ length: 33 }, (_, n) => `k${n}=1`).join(',')],
    ['longer than 512 characters', `a=${'x'.repeat(511)}`],
  ])('that is %s is left out', (_, header) => {
    expect(tracestateFrom(header)).toBeUndefined()
  })
})

it('ids are hex, of the right length and never the same', () => {
  const traces = new Set(Array.from({ length: 2000 }, newTraceId))
  const spans = new Set(Array.from({ length: 2000 }, newSpanId))
  expect([traces.size, spans.size]).toEqual([2000, 2000])
  for (const id of traces) expect(id).toMatch(/^[\da-f]{32}$/)
  for (const id of spans) expect(id).toMatch(/^[\da-f]{16}$/)
})
