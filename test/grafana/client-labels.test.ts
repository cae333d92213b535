import { expect, it } from 'vitest'
import { startRunner } from '../../native-runner/runner.ts'
import { startTestGateway } from '../support/gateway.ts'

const mark = 'zz-hostile'

/** Everything that a client can write, with a mark in it. */
function hostileCalls(url: string): Promise<Response>[] {
  const headers = Object.fromEntries(
    [
      'x-request-id',
      'x-conversation-id',
      'x-foldgate-debug',
      'x-batch-hint',
      'x-cache-hint',
      'user-agent',
      'x-mark',
    ].map((name) => [name, mark]),
  )
  const json = { ...headers, 'content-type': 'application/json', authorization: `Bearer ${mark}` }
  const body = {
    model: mark,
    user: mark,
    messages: [{ role: mark, name: mark, content: mark }],
    metadata: { [mark]: mark },
  }
  const chat = (more: object): Promise<Response> =>
    fetch(`${url}/v1/chat/completions`, { method: 'POST', headers: json, body: JSON.stringify({ ...body, ...more }) })
  return [
    chat({}),
    chat({ stream: true }),
    chat({ messages: [{ role: 'user', content: mark }], tools: [{ type: mark, function: { name: mark } }] }),
    fetch(`${url}/v1/${mark}?${mark}=${mark}`, { headers }),
    fetch(`${url}/v1/models/${mark}`, { headers }),
    fetch(`${url}/v1/chat/completions`, { method: 'PROPFIND', headers }),
    fetch(`${url}/v1/embeddings`, {
      method: 'POST',
      headers: json,
      body: JSON.stringify({ model: mark, input: mark }),
    }),
  ]
}

it('no label takes what a client writes, at the gateway or at the runner', async () => {
  await using runner = await startRunner({ engine: 'echo', model: 'echo', server: { port: 0 } })
  await using gateway = await startTestGateway({
    runners: [runner.url],
    config: { listen: { passthrough: ['/v1/models/*'] } },
  })
  const answers = await Promise.all([...hostileCalls(gateway.url), ...hostileCalls(runner.url)])
  for (const answer of answers) await answer.arrayBuffer()
  const texts = await Promise.all(
    [gateway.adminUrl, runner.url].map(async (url) => (await fetch(`${url}/metrics`)).text()),
  )
  for (const text of texts) {
    expect(text).toMatch(/foldgate_\w*requests_total\{[^}]*\} [1-9]/)
    expect(text.toLowerCase()).not.toContain(mark)
    expect(text).not.toContain('PROPFIND')
  }
})
