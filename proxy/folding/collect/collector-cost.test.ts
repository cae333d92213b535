import { expect, it } from 'vitest'
import { costOf } from '../../telemetry/cost.support.ts'
import { began, collecting, drawnFor, endOf } from './test-calls.ts'

it('hearing how a call ended costs a few microseconds', () => {
  const collector = collecting()
  const ends = Array.from({ length: 1_000 }, (_, unit) =>
    endOf({
      unit,
      arm: unit % 10 ? 'control' : 'canary',
      at: began + unit * 300,
      ...(unit % 100 ? {} : { code: 500 }),
    }),
  )
  const cost = costOf('collecting the end of a span', 20_000, (each) => collector.onEnd(ends[each % 1_000]!))
  // A busy machine is many times slower than an idle one, where it is below 5.
  expect(cost).toBeLessThan(50)
  expect(collector.flush('r1').cells[0]!.control.ended).toBeGreaterThan(100_000)
})

it('a draw from beginning to end costs a few microseconds', () => {
  const collector = collecting()
  const drawn = drawnFor()
  const cost = costOf('a draw in flight', 20_000, (unit) => {
    const flight = collector.assigned({ ...drawn, unit: `${unit % 1_000}`.padStart(16, '0') })
    flight.started('gpu-a')
    flight.firstByte()
    flight.over()
  })
  expect(cost).toBeLessThan(100)
  expect(collector.flush('r1').inFlight).toBe(0)
})
