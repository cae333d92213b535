import { expect, it } from 'vitest'
import { createMetrics, type Metrics } from './metrics.ts'

const create = () => createMetrics({ version: '1', commit: 'c', layers: [] })
const ok = { runner: 'gpu-a', outcome: 'ok', seconds: 0.3 } as const

async function linesOf(metrics: Metrics, name: string): Promise<string[]> {
  const { body } = await metrics.text()
  return body.split('\n').filter((line) => line.startsWith(`foldgate_${name}`))
}

it('a runner has series from its first call on, each outcome from zero', async () => {
  const metrics = create()
  expect(await linesOf(metrics, 'attempts_total')).toEqual([])
  metrics.tried({ ...ok, outcome: 'failed' })
  metrics.tried({ ...ok, runner: 'gpu-b' })
  expect(await linesOf(metrics, 'attempts_total')).toEqual([
    'foldgate_attempts_total{runner="gpu-a",outcome="ok"} 0',
    'foldgate_attempts_total{runner="gpu-a",outcome="refused"} 0',
    'foldgate_attempts_total{runner="gpu-a",outcome="failed"} 1',
    'foldgate_attempts_total{runner="gpu-a",outcome="left"} 0',
    'foldgate_attempts_total{runner="gpu-b",outcome="ok"} 1',
    'foldgate_attempts_total{runner="gpu-b",outcome="refused"} 0',
    'foldgate_attempts_total{runner="gpu-b",outcome="failed"} 0',
    'foldgate_attempts_total{runner="gpu-b",outcome="left"} 0',
  ])
})

it('the standard deviation of tool calls follows from what is counted', async () => {
  const metrics = create()
  for (const toolCallSeconds of [1, 2, 3, 4]) metrics.tried({ ...ok, toolCallSeconds })
  const last = async (name: string): Promise<number> => Number((await linesOf(metrics, name)).at(-1)?.split(' ').at(-1))
  const [sum, count] = [await last('tool_call_seconds_sum'), await last('tool_call_seconds_count')]
  const squares = await last('tool_call_squared_seconds_total')
  expect([sum, count, squares]).toEqual([10, 4, 30])
  expect(Math.sqrt(squares / count - (sum / count) ** 2)).toBeCloseTo(Math.sqrt(1.25))
})

it('the KV cache hit ratio is that of the latest calls, and nothing while no runner tells', async () => {
  const metrics = create()
  metrics.tried({ ...ok, tokens: { input: 100, output: 1 } })
  expect(await linesOf(metrics, 'kv_cache_hit_ratio')).toEqual([])
  const ratio = async (): Promise<number> => Number((await linesOf(metrics, 'kv_cache_hit_ratio'))[0]?.split(' ')[1])
  metrics.tried({ ...ok, tokens: { input: 100, output: 1, cached: 90 } })
  expect(await ratio()).toBeCloseTo(0.9)
  for (let call = 0; call < 300; call++) metrics.tried({ ...ok, tokens: { input: 100, output: 1, cached: 10 } })
  expect(await ratio()).toBeCloseTo(0.1, 2)
  metrics.tried({ ...ok, tokens: { input: 1, output: 1, cached: 1_000_000 } })
  expect(await ratio()).toBeLessThanOrEqual(1)
})

it('tokens that a runner had in its KV cache stand beside those it read and made', async () => {
  const metrics = create()
  metrics.tried({ ...ok, tokens: { input: 100, output: 7, cached: 40 } })
  expect(await linesOf(metrics, 'attempt_tokens_total')).toEqual([
    'foldgate_attempt_tokens_total{runner="gpu-a",kind="input"} 100',
    'foldgate_attempt_tokens_total{runner="gpu-a",kind="output"} 7',
    'foldgate_attempt_tokens_total{runner="gpu-a",kind="cached"} 40',
  ])
})
