import { expect, it } from 'vitest'
import { chatChunk, completionBody, sse } from '../test/support/chat-replies.ts'
import { startTestGateway } from '../test/support/gateway.ts'
import { json } from '../test/support/reply.ts'
import { startUpstream } from '../test/support/upstream.ts'

const usage = {
  prompt_tokens: 40,
  completion_tokens: 10,
  total_tokens: 50,
  prompt_tokens_details: { cached_tokens: 30 },
}
const call = { index: 0, id: 'c', type: 'function', function: { name: 'look', arguments: '{}' } }
const answered = json(completionBody('good', { usage }))
const withTool = sse([
  chatChunk({ role: 'assistant', content: '' }),
  chatChunk({ toolCalls: [call] }),
  chatChunk({ finish: 'tool_calls' }),
  chatChunk({ choice: null, usage }),
])

async function startRig() {
  const stack = new AsyncDisposableStack()
  const broken = stack.use(await startUpstream(json({ error: { message: 'broken' } }, 500)))
  const good = stack.use(await startUpstream(answered))
  const gateway = stack.use(
    await startTestGateway({
      runners: [broken.url, good.url],
      layers: {
        'rate-limit': { limits: [{ key_fields: [], tokens_per_minute: 1_000_000 }] },
        cache: { ttl_seconds: 60 },
        routing: {
          targets: [
            { runner: 'a', model: 'm' },
            { runner: 'b', model: 'm', weight: 0.000001 },
          ],
        },
      },
    }),
  )
  return {
    good,
    async ask(content: string, more: object = {}) {
      const response = await fetch(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content }], temperature: 0, ...more }),
      })
      await response.text()
      return response.status
    },
    /** The series whose names begin so and whose values are other than zero. */
    async series(name: string) {
      const text = await (await fetch(`${gateway.adminUrl}/metrics`)).text()
      return text.split('\n').filter((line) => line.startsWith(`foldgate_${name}`) && !/ 0$/.test(line))
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

it('each try counts for its own runner, and what was said of the answer for the one that gave it', async () => {
  await using rig = await startRig()
  expect(await rig.ask('one')).toBe(200)
  expect(await rig.series('attempts_total')).toEqual([
    'foldgate_attempts_total{runner="a",outcome="failed"} 1',
    'foldgate_attempts_total{runner="b",outcome="ok"} 1',
  ])
  expect(await rig.series('attempt_tokens_total')).toEqual([
    'foldgate_attempt_tokens_total{runner="b",kind="input"} 40',
    'foldgate_attempt_tokens_total{runner="b",kind="output"} 10',
    'foldgate_attempt_tokens_total{runner="b",kind="cached"} 30',
  ])
  expect(await rig.series('kv_cache_hit_ratio')).toEqual(['foldgate_kv_cache_hit_ratio{runner="b"} 0.75'])
  expect(await rig.series('attempt_time_to_first_token_seconds_count')).toEqual([])
})

it('a stored answer is no try, and its first byte counts as the cache’s', async () => {
  await using rig = await startRig()
  await rig.ask('again')
  await rig.ask('again')
  expect(await rig.series('attempts_total{runner="b"')).toEqual(['foldgate_attempts_total{runner="b",outcome="ok"} 1'])
  expect(await rig.series('first_byte_seconds_count')).toEqual([
    'foldgate_first_byte_seconds_count{cache="answer"} 1',
    'foldgate_first_byte_seconds_count{cache="prefix"} 1',
  ])
})

it('the first tool call of a stream is timed, and the parts of the stream are measured as they are written', async () => {
  await using rig = await startRig()
  rig.good.play(withTool)
  await rig.ask('use a tool', { stream: true })
  expect(await rig.series('tool_call_seconds_count')).toEqual(['foldgate_tool_call_seconds_count{runner="b"} 1'])
  expect(await rig.series('attempt_time_to_first_token_seconds_count')).toEqual([
    'foldgate_attempt_time_to_first_token_seconds_count{runner="b"} 1',
  ])
  const [flushed = ''] = await rig.series('stream_flush_bytes_sum')
  expect(Number(flushed.split(' ')[1])).toBeGreaterThan(300)
})
