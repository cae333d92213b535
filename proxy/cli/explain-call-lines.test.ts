import { expect, test } from 'vitest'
import { story } from '../admin/test-operations.ts'
import { linesFromCall } from './explain-call-lines.ts'

test('a folded call is told with what the runner acknowledged, what was taken back and why, and what the caller asked wrongly', () => {
  const lines = linesFromCall(
    {
      ...story,
      directiveFault: 'execution_context.cache.ttl_seconds',
      layers: [{ name: 'auth', verdict: 'pass', mode: 'observe', decideMs: 0.1, settleMs: 0 }],
      fold: {
        boot: 'b_1',
        policy: 'f'.repeat(64),
        sends: 2,
        reason: 'policy-unknown',
        layers: [
          {
            name: 'auth',
            stage: 'native',
            mode: 'enforce',
            outcome: 'refuse',
            code: 'forbidden',
            us: 210,
            essence: 'AA==',
          },
          { name: 'prompt', stage: 'native', fallback: 'policy-unknown' },
          { name: 'postprocess', stage: 'shadow', mode: 'observe', outcome: 'armed', unacknowledged: true },
        ],
      },
    },
    false,
  ).split('\n')
  expect(lines).toContain('asked    execution_context is not valid at execution_context.cache.ttl_seconds')
  expect(lines).toContain('folded   sent with a context 2 times, acknowledged by b_1')
  expect(lines).toContain('fallback policy-unknown')
  const row = (name: string) => lines.filter((line) => line.startsWith(`${name} `)).map((line) => line.split(/ {2,}/))
  expect(row('auth')).toEqual([
    ['auth', 'pass (observed)', '0.10 ms', '0.00 ms'],
    ['auth', 'native', 'enforce', 'refuse forbidden', '210 µs', 'AA==', '–'],
  ])
  expect(row('prompt')).toEqual([['prompt', 'native', '–', '–', '–', '–', 'policy-unknown']])
  expect(row('postprocess')[0]?.[3]).toBe('armed, end not acknowledged')
})

test('a call that was not folded is told without a word about runners that execute layers', () => {
  const text = linesFromCall(story, false)
  expect(text).toContain('auth   pass     0.10 ms  0.00 ms')
  expect(text).not.toMatch(/folded|AT RUNNER/)
})
