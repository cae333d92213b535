import fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import { startFoldingRig } from '../e2e/folding-rig.ts'
import { type Cut, otherWords, startCuttingRunner } from './cutting-runner.ts'

vi.setConfig({ testTimeout: 60_000 })

const asked = 'one two three four five six seven eight nine ten'
const cuts: fc.Arbitrary<Cut> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ cut: fc.nat(3_000) }) },
  { weight: 2, arbitrary: fc.constantFrom('refuses' as const, 'unsigned' as const) },
  { weight: 1, arbitrary: fc.constant(undefined) },
)
const textOf = (body: string): string =>
  [...body.matchAll(/^data: (\{.*\})$/gm)]
    .map(([, event = '{}']) => JSON.parse(event) as { choices?: { delta?: { content?: string } }[] })
    .map(({ choices }) => choices?.[0]?.delta?.content ?? '')
    .join('')
const capacity = 1_000_000

describe('an answer whose way breaks anywhere', () => {
  it('I8, I4: is wholly of one side, or breaks off with an error that says so; and each call is charged once', async () => {
    await using runner = await startCuttingRunner()
    await using rig = await startFoldingRig({
      stages: { postprocess: 'canary' },
      layers: {
        'rate-limit': { limits: [{ key_fields: ['tenant'], tokens_per_minute: 60, burst_capacity: capacity }] },
        cache: undefined,
      },
      config: { folding: { policy: { stages: [100] } } },
      front: (url) => runner.leading(url),
      pace: (constants) => ({
        ...constants,
        errors: { ...constants.errors, p0: 0.99, p1: 0.999 },
        fallbacks: { ...constants.fallbacks, p0: 0.99, p1: 0.999 },
      }),
    })
    const seen = { whole: 0, other: 0, broken: 0 }
    let call = 0
    const ask = async () => {
      const response = await rig.chat(
        {
          ...{ messages: [{ role: 'user', content: asked }], stream: true, max_tokens: 20 },
          stream_options: { include_usage: true },
        },
        { 'x-conversation-id': `c${call++}` },
      )
      const body = await response.text()
      const left = Number(response.headers.get('x-ratelimit-remaining-tokens'))
      const charged = Number(/"total_tokens":(\d+)/.exec(body)?.[1] ?? Number.NaN)
      return { response, body, text: textOf(body), isWhole: body.includes('[DONE]'), left, charged }
    }
    await fc.assert(
      fc.asyncProperty(cuts, async (cut) => {
        runner.next = cut
        const before = runner.plain
        const { response, body, text, isWhole, left, charged } = await ask()
        if (text.includes(otherWords)) {
          expect([response.status, text, isWhole]).toEqual([200, otherWords, true])
          expect(runner.plain).toBe(before + 1)
          seen.other++
        } else {
          // Once something of the runner's answer is out, nobody else is asked.
          expect(asked.startsWith(text.trimEnd()) || text.startsWith(asked)).toBe(true)
          expect(runner.plain).toBe(before)
          if (!isWhole) expect(response.status !== 200 || body.includes('"error"')).toBe(true)
          seen[isWhole ? 'whole' : 'broken']++
        }
        // A runner that fails three times in a row is left alone for a while: between them all is well.
        runner.next = undefined
        const next = await ask()
        expect(next.isWhole).toBe(true)
        // A token comes back each second.
        if (isWhole) expect(Math.abs(left - next.left - charged)).toBeLessThanOrEqual(Math.min(5, charged - 1))
        else expect(left - next.left).toBeLessThanOrEqual(next.charged + 20)
      }),
      { numRuns: 30, seed: 8 },
    )
    expect(Math.min(seen.whole, seen.other, seen.broken)).toBeGreaterThan(0)
  })
})
