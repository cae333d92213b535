import { writeFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { startRunner } from '../../native-runner/runner.ts'
import { createSigningKey } from '../../plugins/jws-key.ts'
import { startTestGateway } from '../support/gateway.ts'
import { failOnLeaks } from '../support/leaks.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { type EdgeHabits, startEdge } from './edge.ts'

failOnLeaks()

const secret = Buffer.from('0123456789abcdef0123456789abcdef')
const apiKey = 'a-runner-key-of-more-than-thirty-two-bytes'

/** A gateway with something between it and its runner, of which it learns habits once the runner is known. */
async function startRig() {
  const dir = createTempDir()
  writeFileSync(dir.file('k1'), secret)
  writeFileSync(dir.file('api-key'), apiKey)
  const keys = [createSigningKey({ kid: 'k1', alg: 'HS256', secret })]
  const runner = await startRunner({ engine: 'echo', model: 'echo', server: { port: 0, apiKey }, execution: { keys } })
  const habits: { -readonly [Name in keyof EdgeHabits]: EdgeHabits[Name] } = {}
  const edge = await startEdge(runner.url, habits)
  const gateway = await startTestGateway({
    base: dir.path,
    runners: [{ kind: 'native', url: edge.url, apiKeyFile: 'api-key' }],
    layers: { prompt: {}, postprocess: { pii: { mode: 'redact', types: ['email'] } } },
    config: {
      signing: { keys: [{ kid: 'k1', alg: 'HS256', secretFile: 'k1' }] },
      folding: { stages: { prompt: 'native', postprocess: 'native' } },
    },
  })
  await gateway.setup().folding.instances?.ready
  return {
    habits,
    async chat(more: object = {}) {
      const response = await fetch(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'echo', messages: [{ role: 'user', content: 'one two' }], ...more }),
      })
      return { status: response.status, line: response.headers.get('x-layer-status'), text: await response.text() }
    },
    /** The series of headers that went missing, with their counts. */
    async missing() {
      const text = await (await fetch(`${gateway.adminUrl}/metrics`)).text()
      const found = text.matchAll(/^foldgate_missing_header_total\{header="([^"]+)",where="([^"]+)"\} ([1-9]\d*)$/gm)
      return [...found].map(([, header, where, count]) => `${header} ${where} ${count}`)
    },
    async [Symbol.asyncDispose]() {
      await gateway.close()
      await edge[Symbol.asyncDispose]()
      await runner.close(0)
      await dir[Symbol.asyncDispose]()
    },
  }
}

it('with nothing in between nothing is missing', async () => {
  await using rig = await startRig()
  await rig.chat()
  const { line } = await rig.chat({ stream: true })
  expect([line, await rig.missing()]).toEqual([expect.stringContaining('by=runner;armed'), []])
})

it('a context that does not reach the runner is counted once a call, and the gateway serves it', async () => {
  await using rig = await startRig()
  rig.habits.dropsIn = ['x-execution-context']
  const { status, line } = await rig.chat()
  expect([status, line]).toEqual([
    200,
    expect.stringContaining('postprocess=fallback;by=gateway;reason=context-refused'),
  ])
  expect(await rig.missing()).toEqual(['x-execution-context runner-in 1'])
})

it('an acknowledgement that does not come back is counted once a call, and the gateway serves it', async () => {
  await using rig = await startRig()
  rig.habits.dropsOut = ['x-layer-ack']
  const { status, line } = await rig.chat()
  expect([status, line]).toEqual([
    200,
    expect.stringContaining('postprocess=fallback;by=gateway;reason=not-acknowledged'),
  ])
  expect(await rig.missing()).toEqual(['x-layer-ack runner-out 1'])
})

it('a stream that ends without its final part is counted once, and is whole for the client', async () => {
  await using rig = await startRig()
  rig.habits.dropsTrailers = true
  const { status, text } = await rig.chat({ stream: true })
  expect([status, text.endsWith('data: [DONE]\n\n')]).toEqual([200, true])
  expect(await rig.missing()).toEqual(['x-layer-ack-end runner-out 1'])
})

it('a context or an acknowledgement that comes damaged is not missing', async () => {
  await using rig = await startRig()
  rig.habits.writesOut = { 'x-layer-ack': 'runner;id="0"' }
  expect((await rig.chat()).line).toContain('reason=not-acknowledged')
  rig.habits.writesOut = {}
  rig.habits.writesIn = { 'x-execution-context': 'no.context.atall' }
  expect((await rig.chat()).line).toMatch(/postprocess=fallback;by=gateway;reason=(signature|context-refused)/)
  expect(await rig.missing()).toEqual([])
})
