import { describe, expect, test } from 'vitest'
import { readSse, sseEvents } from './sse-events.ts'

describe('the strict reader', () => {
  test.each([
    ['LF', 'data: a\ndata: b\n\ndata: c\n\n'],
    ['CR', 'data: a\rdata: b\r\rdata: c\r\r'],
    ['CRLF', 'data: a\r\ndata: b\r\n\r\ndata: c\r\n\r\n'],
    ['mixed', '\uFEFFdata:a\r\ndata: b\r\n\ndata:c\n\r\n'],
  ])('knows %s line ends', (_, stream) => {
    expect(sseEvents(stream).map((event) => event.data)).toEqual(['a\nb', 'c'])
  })

  test('comments are no events, and one between two lines of an event does not end it', () => {
    const reading = readSse(': WORKING\n\n:\n\ndata: a\n: note\ndata: b\n\n')
    expect(reading.events.map((event) => event.data)).toEqual(['a\nb'])
    expect(reading.comments).toEqual([' WORKING', '', ' note'])
  })

  test('an event without data is not dispatched, and an id outlives its event', () => {
    const reading = readSse('id: 1\n\nevent: x\ndata: a\n\nid: b\0d\nretry: 1x\nretry: 20\ndata: b\n\n')
    expect(reading.events).toEqual([
      { type: 'x', data: 'a', id: '1' },
      { type: 'message', data: 'b', id: '1' },
    ])
    expect(reading.retry).toBe(20)
  })

  test('only one space after the colon is taken away, and a line without a colon is a field name', () => {
    const reading = readSse('data:  a\ndata\nfoo: x\n\n')
    expect(reading.events[0]!.data).toBe(' a\n')
    expect(reading.unknown).toEqual(['foo: x'])
  })

  test('an unfinished event or line is not dispatched and is said', () => {
    expect(readSse('data: a\n')).toMatchObject({ events: [], unfinished: true })
    expect(readSse('data: a')).toMatchObject({ events: [], unfinished: true })
    expect(readSse('data: a\n\n').unfinished).toBe(false)
  })

  test('bytes that are not UTF-8 are refused', () => {
    expect(() => readSse(Buffer.from([0x64, 0xe5, 0x8c, 0x0a]))).toThrow()
  })
})
