import { expect, it } from 'vitest'
import { createCallFold } from './folding/call-fold.ts'
import { serverTiming } from './server-timing.ts'

const layers = [{ name: 'auth', verdict: 'pass', mode: 'observe', decideMs: 0.12345, settleMs: 0 }] as const

it('a call that stayed here tells how long each layer took to decide', () => {
  expect(serverTiming({ layers, fold: undefined })).toBe('auth;dur=0.123')
})

it('a call that was split tells the runner’s microseconds as milliseconds, and the policy', () => {
  const fold = createCallFold()
  const runner = { id: 'f'.repeat(32), pol: 'ab'.repeat(32) }
  fold.said = {
    acknowledgement: { runner, layers: { cache: { o: 'pass', d: 210 }, prompt: { o: 'pass' } } },
    beside: false,
    soft: [],
  }
  expect(serverTiming({ layers, fold })).toBe(
    `auth;dur=0.123, runner.cache;dur=0.210, policy;desc="${'ab'.repeat(32)}"`,
  )
})
