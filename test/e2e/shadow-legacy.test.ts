import { describe, expect, it } from 'vitest'
import { foldgateHere } from '../../proxy/cli/test-command.ts'
import type { LegacyReport } from '../../proxy/folding/diff/legacy-agreement.ts'
import { completion, fault, streamed } from '../support/chat-replies.ts'
import { startUpstream, type Upstream } from '../support/upstream.ts'
import { type Stack, startStack } from './stack.ts'

async function startBeside(upstream: Upstream): Promise<Stack> {
  return startStack({
    config: { folding: { shadow: { legacy: { url: `${upstream.url}/team`, headers: { 'x-from': 'foldgate' } } } } },
  })
}

function ask(
  { gateway, key }: Stack,
  body: object | string = {},
  headers: Record<string, string> = {},
): Promise<Response> {
  const asked = {
    model: 'echo',
    messages: [{ role: 'user', content: 'hello' }],
    ...(typeof body === 'string' ? {} : body),
  }
  return fetch(`${gateway.url}/v1/chat/completions?a=b`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}`, 'user-agent': 'tester', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(asked),
  })
}

/** The report, once it is about so many calls. */
async function reportOf({ gateway }: Stack, calls: number): Promise<LegacyReport> {
  for (;;) {
    const report = (await (await fetch(`${gateway.adminUrl}/-/diffs?legacy`)).json()) as LegacyReport
    if (report.calls >= calls) return report
  }
}

describe('while the existing chain serves', () => {
  it('a call goes to it as it came, and its answer to the caller byte for byte', async () => {
    await using upstream = await startUpstream(completion('from the old chain', { odd: [1, 2.5] }))
    await using stack = await startBeside(upstream)
    const body = '{ "model" : "echo",\n "messages":[{"role":"user","content":"hello"}] , "new_member": 1 }'
    const response = await ask(stack, body, { 'x-own': 'yes', 'x-execution-context': 'mine' })
    const text = await response.text()
    expect([response.status, JSON.parse(text)]).toMatchObject([
      200,
      { odd: [1, 2.5], choices: [{ message: { content: 'from the old chain' } }] },
    ])
    const sent = await upstream.request(0)
    expect([sent.path, sent.body.toString()]).toEqual(['/team/v1/chat/completions?a=b', body])
    expect(sent.headers).toMatchObject({
      'x-own': 'yes',
      'x-from': 'foldgate',
      'user-agent': 'tester',
      authorization: `Bearer ${stack.key}`,
    })
    expect(sent.headers).not.toHaveProperty('x-execution-context')
    expect(response.headers.get('x-layer-status')).toContain('auth=evaporation-bypassed;by=none')
    expect(await stack.asked()).toBe(0)
  })

  it('streams go by untouched, and every layer says beside it how far it agrees', async () => {
    await using upstream = await startUpstream(streamed(['mail ', 'a@example.com']))
    await using stack = await startBeside(upstream)
    const response = await ask(stack, { stream: true })
    expect(await response.text()).toContain('a@example.com')
    const report = await reportOf(stack, 1)
    expect(report.statuses).toEqual({ '2xx→2xx': 1 })
    expect(report.layers['auth']).toMatchObject({ compared: 1, agrees: 1 })
    expect(report.layers['rate-limit']).toMatchObject({ compared: 1, agrees: 1 })
    // Ours would have taken the address out.
    expect(report.layers['postprocess']).toMatchObject({ compared: 1, agrees: 0 })
    expect(report.layers).not.toHaveProperty('prompt')
  })

  it('a caller whom it lets in and we would not, and the reverse, stand in the report', async () => {
    await using upstream = await startUpstream(({ headers }) =>
      headers['x-team'] === 'no' ? fault(401, 'who are you') : completion('hello'),
    )
    await using stack = await startBeside(upstream)
    const strange = await ask(stack, {}, { authorization: 'Bearer nobody' })
    const refused = await ask(stack, {}, { 'x-team': 'no' })
    expect([strange.status, refused.status]).toEqual([200, 401])
    const report = await reportOf(stack, 2)
    expect(report.statuses).toEqual({ '2xx→401': 1, '401→2xx': 1 })
    expect(report.layers['auth']).toMatchObject({ agrees: 0, hard: 2, f1: { 'auth-false-allow': 1 } })
    const { code, out } = await foldgateHere(['diff', '--legacy', '--admin', stack.gateway.adminUrl])
    expect([code, out]).toEqual([0, expect.stringMatching(/2 calls served by the existing chain.*401→2xx/s)])
  })

  it('a chain that is away is said as what it is', async () => {
    const upstream = await startUpstream(completion('x'))
    await using stack = await startBeside(upstream)
    await upstream.close()
    const response = await ask(stack)
    expect([response.status, await response.json()]).toMatchObject([503, { error: { code: 'runner_unreachable' } }])
  })
})
