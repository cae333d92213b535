import { describe, expect, it } from 'vitest'
import { until } from '../test/support/gate.ts'
import { createPressureGauge } from './pressure.ts'

const board = (available: readonly boolean[]) => ({
  names: available.map((_, index) => String(index)),
  state: (name: string) => ({ available: available[Number(name)] === true, retryAfterMs: 0, outstandingTokens: 0 }),
})

describe('pressure by runners', () => {
  it.each([
    [[true, true, true], 'none'],
    [[true, true, false], 'raised'],
    [[true, false], 'high'],
    [[false], 'high'],
    [[], 'none'],
  ])('with %j available is %s', (available, level) => {
    const gauge = createPressureGauge()
    expect(gauge.level(board(available))).toBe(level)
    gauge.close()
  })
})

it.each([
  [0.79, 'none'],
  [0.8, 'raised'],
  [0.95, 'high'],
])('pressure with an event loop that is busy %d of the time is %s', async (share, level) => {
  let asked = 0
  const busy = (): number => {
    asked++
    return share
  }
  const gauge = createPressureGauge({ busy, everyMs: 1 })
  await until(() => asked > 0, 'a look')
  expect(gauge.level(board([true]))).toBe(level)
  gauge.close()
})
