import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'vitest'
import type { TestGateway } from '../support/gateway.ts'
import { createRandom } from '../support/random.ts'

const weights = { 'm-6': 6, 'm-3': 3, 'm-1': 1 } as const

/** A runner of three models that tells how many tokens each has used. */
export async function startMeteredRunner(seed: number) {
  const random = createRandom(seed)
  let used: Record<string, number> = {}
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const part of request) text += part
    const { model = '' } = JSON.parse(text || '{}') as { model?: string }
    // Eight times as long as the shortest, now and then.
    const total = Math.ceil(20 * 8 ** random())
    used[model] = (used[model] ?? 0) + total
    const usage = { prompt_tokens: 5, completion_tokens: total - 5, total_tokens: total }
    const choices = [{ index: 0, message: { role: 'assistant', content: 'yes' }, finish_reason: 'stop' }]
    const body = { id: 'chatcmpl-1', object: 'chat.completion', created: 1, model, choices, usage }
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** The share of each model since this was asked last. */
    shares(): number[] {
      const all = Object.values(used).reduce((sum, each) => sum + each, 0)
      const found = Object.keys(weights).map((model) => (used[model] ?? 0) / all)
      used = {}
      return found
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
    },
  }
}

/** A gateway's layers that share calls among its models by their weights. */
export const sharing = {
  'rate-limit': { limits: [{ key_fields: ['client_ip'], tokens_per_minute: 60_000_000, burst_capacity: 60_000_000 }] },
  routing: {
    targets: Object.entries(weights).map(([model, weight]) => ({ runner: 'a', model, weight, aliases: ['any'] })),
  },
}

/** Asks so many calls, one after the other; the statuses of those that failed. */
export async function ask(gateway: TestGateway, calls: number): Promise<number[]> {
  const failed: number[] = []
  for (let call = 0; call < calls; call++) {
    const response = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'any', max_tokens: 60, messages: [{ role: 'user', content: `call ${call}` }] }),
    })
    await response.text()
    if (response.status !== 200) failed.push(response.status)
  }
  return failed
}

/** That shares are as configured, and the same as before, within one point. */
export function expectSame(before: readonly number[], after: readonly number[]): void {
  for (const [index, wanted] of [0.6, 0.3, 0.1].entries()) {
    expect(Math.abs((before[index] as number) - wanted)).toBeLessThan(0.01)
    expect(Math.abs((after[index] as number) - (before[index] as number))).toBeLessThan(0.01)
  }
}
