import { expect, it } from 'vitest'
import { gatewayError } from '../../plugins/errors.ts'
import { failOnLeaks } from '../../test/support/leaks.ts'
import { reply } from '../../test/support/reply.ts'
import { startUpstream } from '../../test/support/upstream.ts'
import { attempt, start } from './exported.support.ts'
import { attributesFromRequest } from './gen-ai.ts'
import { createLog } from './log.ts'
import { createMetrics } from './metrics.ts'
import { createTracing } from './tracing.ts'

failOnLeaks()

const secret = 'sk-live-0123456789abcdefghij'
const prompt = 'the patient in room 12'

it('no log line, span or metric repeats a credential or a prompt that it was near', async () => {
  await using collector = await startUpstream(reply(200).length())
  const tracing = await createTracing(
    { otlpEndpoint: collector.url, sampleRatio: 1, serviceName: 's' },
    { version: '1', onDropped: () => {}, environment: {} },
  )
  const metrics = createMetrics({ version: '1', commit: 'c', layers: ['auth'] })
  const lines: string[] = []
  const log = createLog({ level: 'debug', destination: { write: (line) => void lines.push(line) } })
  const request = {
    model: 'm',
    messages: [{ role: 'user', content: prompt }],
    user: secret,
    stop: [prompt],
    seed: secret,
  }
  const cause = new Error(
    `GET https://api.example.com/v1/models?key=${secret}: 404 "Incorrect API key provided: ${secret}"`,
  )
  const error = gatewayError('runner_credential', 'the runner refused our credential', { cause })

  const call = tracing.begin(start)
  const tried = call.attempt({ ...attempt, attrs: attributesFromRequest(request) })
  tried.end({ status: 401, error: error.code })
  log
    .within(call)
    .error({ err: error, request, headers: { authorization: `Bearer ${secret}` } }, `failed for ${secret}`)
  log.debug({ body: prompt, url: `http://h/?key=${secret}` }, 'sent')
  call.end({ code: error.status, source: 'gateway', error: error.code })
  log.access(
    { id: 'c', method: 'POST', route: start.path, status: 502, source: 'gateway', ms: 1, error: error.code },
    call,
  )
  metrics.ended({ route: 'chat', code: 502, source: 'gateway', arm: 'gateway', seconds: 1 })
  await tracing.close()

  const spans = collector.requests.map(({ body }) => body.toString('latin1')).join()
  const all = [...lines, spans, (await metrics.text()).body]
  expect(lines).toHaveLength(3)
  expect(spans).toContain('runner_credential')
  for (const text of all) {
    expect(text).not.toContain(secret)
    expect(text).not.toContain(prompt)
  }
  expect(lines.filter((line) => line.includes(call.traceId))).toHaveLength(2)
})
