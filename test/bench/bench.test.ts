import { describe, expect, it } from 'vitest'
import { counterMark, instantNow, requestBody, stampedFrame, stampsIn } from './bodies.ts'
import { sharesOf } from './cpu-profile.ts'
import { layerTimesFrom, percentileOfTimes, timesBetween } from './exposition.ts'
import { median, percentile } from './figures.ts'
import { benchOptions } from './options.ts'
import { atLeast, atMost, tableOf } from './report.ts'

describe('figures', () => {
  it('a percentile is a value that was measured, whatever the order', () => {
    expect([0.5, 0.99, 1].map((p) => percentile([4, 1, 3, 2], p))).toEqual([2, 4, 4])
  })
  it('the median of an even count lies between the two in the middle', () => {
    expect([median([4, 1, 3, 2]), median([3, 1, 2])]).toEqual([2.5, 2])
  })
})

describe('bodies', () => {
  it('a request has exactly the length asked for and one place for its number', () => {
    const body = requestBody(5120, { stream: true })
    expect(Buffer.byteLength(body)).toBe(5120)
    expect(body.split(counterMark)).toHaveLength(2)
    expect(JSON.parse(body).stream).toBe(true)
  })
  it('a history has as many messages as asked for, in turn, and no more bytes', () => {
    for (const messages of [1, 2, 50, 200]) {
      const body = requestBody(16_384, { messages })
      const roles = (JSON.parse(body) as { messages: { role: string }[] }).messages.map(({ role }) => role)
      expect([Buffer.byteLength(body), roles.length, roles.at(-1)]).toEqual([16_384, messages + 1, 'user'])
      expect(roles.slice(1).every((role, i) => i === 0 || role !== roles[i])).toBe(true)
    }
  })
  it('a stamp says when it was written, to the microsecond', () => {
    const before = instantNow()
    const bytes = Buffer.concat([stampedFrame(), stampedFrame()])
    const found: number[] = []
    stampsIn(bytes, (instant) => found.push(instant))
    expect(found).toHaveLength(2)
    for (const each of found) expect(each).toBeGreaterThanOrEqual(Math.floor(before))
    for (const each of found) expect(each).toBeLessThanOrEqual(Math.ceil(instantNow()))
  })
})

describe('times of layers', () => {
  const page = (counts: readonly number[], sum: number): string =>
    [
      ...['0.001', '0.01', '+Inf'].map(
        (le, i) => `foldgate_layer_duration_seconds_bucket{le="${le}",layer="auth",phase="request"} ${counts[i]}`,
      ),
      `foldgate_layer_duration_seconds_sum{layer="auth",phase="request"} ${sum}`,
      `foldgate_layer_duration_seconds_count{layer="auth",phase="request"} ${counts[2]}`,
      `foldgate_layer_duration_seconds_count{layer="cache",phase="request"} 999`,
    ].join('\n')

  it('only what lies between two pages counts', () => {
    const [before, after] = [page([10, 10, 10], 1), page([60, 110, 110], 3)].map((text) =>
      layerTimesFrom(text, 'auth', 'request'),
    )
    const times = timesBetween(before!, after!)
    expect([times.count, times.sum]).toEqual([100, 2])
    expect(percentileOfTimes(times, 0.5)).toBeCloseTo(0.001)
    expect(percentileOfTimes(times, 0.75)).toBeCloseTo(0.0055)
  })
})

describe('profiles', () => {
  const frame = (functionName: string, url = '') => ({ functionName, url, lineNumber: 4 })
  const profile = {
    nodes: [
      { id: 1, callFrame: frame('(root)'), children: [2, 4] },
      { id: 2, callFrame: frame('outer', 'file:///p/proxy/serve.ts'), children: [3] },
      { id: 3, callFrame: frame('inner', 'file:///p/plugins/auth/rule.ts') },
      { id: 4, callFrame: frame('(idle)') },
    ],
    samples: [2, 3, 3, 4],
    timeDeltas: [0, 10, 20, 10, 60],
  }
  it('idle time is left out, and a function has its own time and that of what it calls', () => {
    const { functions, rooms, idle } = sharesOf(profile, '/p')
    const found = Object.fromEntries(functions.map(({ name, self, inclusive }) => [name, [self, inclusive]]))
    expect(idle).toBe(0.6)
    expect(found['outer proxy/serve.ts:5']).toEqual([0.25, 1])
    expect(found['inner plugins/auth/rule.ts:5']).toEqual([0.75, 0.75])
    expect(rooms.find(({ name }) => name === 'plugins/auth')?.self).toBe(0.75)
  })
})

describe('report', () => {
  it('a bound that is just met passes, one that is just not met is a miss', () => {
    const bound = { limit: 2, unit: 'ms', reached: '' }
    expect(
      [atMost('a', 2, bound), atMost('a', 2.1, bound), atLeast('a', 1.9, bound)].map((row) => row.verdict),
    ).toEqual(['pass', 'miss', 'miss'])
    expect(atLeast('a', Number.NaN, bound).verdict).toBe('miss')
  })
  it('columns stand under each other', () => {
    const rows = [atMost('short', 1, { limit: 2, unit: 'ms', reached: '1 ms' })]
    const [, head, line] = tableOf({ title: 't', method: 'm', rows, measured: {} }).split('\n')
    expect(line?.indexOf('≤')).toBe(head?.indexOf('target'))
  })
})

describe('options', () => {
  it('a suite that does not exist is refused by name', () => {
    expect(() => benchOptions(['speed'])).toThrow('there is no suite "speed"')
    expect(benchOptions(['sse', 'latency']).suites).toEqual(['latency', 'sse'])
  })
})
