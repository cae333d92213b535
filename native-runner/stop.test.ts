import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createStopScanner } from './stop.ts'

it('whatever the cuts, what goes out is the text before the first stop string', () => {
  const letters = fc.constantFrom('a', 'b', '\n')
  const text = fc.string({ unit: letters, maxLength: 40 })
  const stops = fc.array(fc.string({ unit: letters, minLength: 1, maxLength: 4 }), { maxLength: 3 })
  fc.assert(
    fc.property(fc.array(text, { maxLength: 8 }), stops, (parts, list) => {
      const scanner = createStopScanner(list)
      let out = ''
      let stopped = false
      for (const part of parts) {
        if (stopped) break
        const found = scanner.push(part)
        out += found.text
        stopped = found.stopped
      }
      const whole = parts.join('')
      const ends = list.map((stop) => whole.indexOf(stop)).filter((at) => at >= 0)
      expect(stopped).toBe(ends.length > 0)
      // Two stop strings may overlap: the one complete first, in reading order, wins.
      if (!stopped) expect(out + scanner.flush()).toBe(whole)
      else expect(list.some((stop) => whole.startsWith(out + stop))).toBe(true)
    }),
    { seed: 7, numRuns: 500 },
  )
})

it('nothing is held back that cannot become a stop string', () => {
  const scanner = createStopScanner(['END'])
  expect(scanner.push('abE')).toEqual({ text: 'ab', stopped: false })
  expect(scanner.push('x')).toEqual({ text: 'Ex', stopped: false })
  expect(scanner.push('EN')).toEqual({ text: '', stopped: false })
  expect(scanner.flush()).toBe('EN')
})
