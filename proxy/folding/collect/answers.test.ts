import { expect, test } from 'vitest'
import { createAnswerLengths } from './answer-lengths.ts'
import { collecting, drawnFor, endOf } from './test-calls.ts'

const looked = (chars: number, more: object = {}) => ({ 'foldgate.answer.chars': chars, ...more })

test('answers that were looked at are counted by arm, with what speaks against them, and each unit is marked', () => {
  const collector = collecting()
  collector.onEnd(endOf({ unit: 1, attrs: looked(5, { 'foldgate.answer.finish': 'length' }) }))
  collector.onEnd(endOf({ unit: 1, attrs: looked(5, { 'foldgate.answer.declined': true }) }))
  collector.onEnd(endOf({ unit: 2, arm: 'control', attrs: looked(5, { 'foldgate.answer.finish': 'stop' }) }))
  // Nobody looked; the gateway served it in the end; it broke.
  collector.onEnd(endOf({ unit: 3 }))
  collector.onEnd(
    endOf({ unit: 3, fallback: 'runner-error', attrs: looked(5, { 'foldgate.answer.finish': 'length' }) }),
  )
  collector.onEnd(endOf({ unit: 3, code: 502, attrs: looked(5) }))
  const { cells, units } = collector.flush('r1')
  expect(cells[0]?.canary.answers).toEqual({ looked: 2, cut: 1, declined: 1 })
  expect(cells[0]?.control.answers).toEqual({ looked: 1 })
  expect(units.map(({ events }) => events).find((events) => events.includes('cut'))).toEqual(['cut', 'declined'])
})

test('what callers and the scorer think comes later, and counts where the call was drawn', () => {
  const collector = collecting()
  collector.opined(drawnFor({ unit: 1 }), { trial: 'rated', event: 'disliked' })
  collector.opined(drawnFor({ unit: 1, arm: 'control' }), { trial: 'rated', event: undefined })
  collector.opined(drawnFor({ unit: 2 }), { trial: 'scored', event: 'poor' })
  const [cell] = collector.flush('r1').cells
  expect(cell?.canary.answers).toEqual({ rated: 1, disliked: 1, scored: 1, poor: 1 })
  expect(cell?.control.answers).toEqual({ rated: 1 })
  // A rollout that is not kept any more makes no book.
  collector.opined(drawnFor({}, { rollout: 'gone' }), { trial: 'rated', event: 'disliked' })
  expect(collector.flush('gone').cells).toEqual([])
})

test('lengths are held against the first 200 of the control, the same for both arms', () => {
  const lengths = createAnswerLengths()
  for (let chars = 1; chars <= 200; chars++) {
    expect(lengths.take('canary', 1)).toBeUndefined()
    expect(lengths.take('control', chars)).toBeUndefined()
  }
  expect([10, 11, 190, 191].map((chars) => lengths.take('canary', chars))).toEqual([
    { short: true, long: false },
    { short: false, long: false },
    { short: false, long: false },
    { short: false, long: true },
  ])
})
