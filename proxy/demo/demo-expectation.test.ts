import { expect, it } from 'vitest'
import { createRandom } from '../../test/support/random.ts'
import { sprtVerdict } from '../folding/statistics/sprt.ts'
import { expectedCanaryCalls } from './demo-expectation.ts'

it.each([0.05, 0.5, 1])(
  'what is expected of a runner that breaks with chance %d is what simulated runs take',
  (fault) => {
    const errors = { p0: 0.001, p1: 0.005, alpha: 0.01, beta: 0.1 }
    const random = createRandom(7)
    const mean = Array.from({ length: 400 }, () => callsUntilBack(fault, errors, random)).reduce((a, b) => a + b) / 400
    const expected = expectedCanaryCalls(fault, { errors })
    expect(mean).toBeGreaterThan(expected * 0.4)
    expect(mean).toBeLessThan(expected * 1.7 + 3)
  },
)

/** Half of the calls go to the runner that breaks: until three of them in a row are bad, or the test over all calls trips. */
function callsUntilBack(fault: number, errors: Parameters<typeof sprtVerdict>[1], random: () => number): number {
  let [n, x, run] = [0, 0, 0]
  for (;;) {
    n++
    if (random() < 0.5) {
      const bad = random() < fault
      run = bad ? run + 1 : 0
      if (bad) x++
    }
    if (run === 3 || sprtVerdict({ n, x }, errors) === 'trip') return n
  }
}
