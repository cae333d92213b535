import { expect, it } from 'vitest'
import { createProgress } from './progress.ts'

function screen(isTTY: boolean) {
  const written: string[] = []
  return { written, isTTY, write: (text: string) => written.push(text) }
}

it('a terminal shows a bar that is drawn over itself', () => {
  const terminal = screen(true)
  const progress = createProgress('model', 100e6, terminal)
  progress.at(50e6)
  progress.done()
  expect(terminal.written[0]).toMatch(/^\rmodel █{15}░{15} 50 % 50 MB of 100 MB/)
  expect(terminal.written.at(-1)).toBe('\n')
})

it('a log gets a line now and then, not one a piece', () => {
  const log = screen(false)
  const progress = createProgress('model', undefined, log)
  for (let at = 1; at <= 1000; at++) progress.at(at * 1e6)
  progress.done()
  expect(log.written).toEqual(['model: 1 MB\n', 'model: 1000 MB\n'])
})
