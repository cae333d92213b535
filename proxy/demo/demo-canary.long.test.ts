import { expect, it } from 'vitest'
import { demoCanary } from './demo-canary.ts'

it('a layer goes to native by itself, comes back when its runner breaks, and no caller notices', async () => {
  const lines: string[] = []
  const well = await demoCanary({
    ...{ faults: [100], shares: [100], scale: 60 },
    signal: AbortSignal.timeout(110_000),
    say: (line) => lines.push(line),
  })
  const told = lines.join('\n')
  expect(told).toMatch(/shadow +left after (.|\n)*canary 1 % +left after/)
  expect(told).toMatch(/canary 100 % +left after (.|\n)*\n {2}native\n/)
  expect(told).toMatch(/100 % +100 % +[\d.]+ s +\d+ .* F\d/)
  expect(told).toContain('failed for their callers, in all of this: 0')
  expect(well).toBe(true)
}, 120_000)
