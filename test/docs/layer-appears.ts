import { writeFileSync } from 'node:fs'
import { movableLayers } from '../../config/check-folding.ts'
import { configSchema } from '../../config/installed.ts'
import { loadConfig } from '../../config/load.ts'
import type { GatewayError } from '../../plugins/errors.ts'
import { orderFaults } from '../../plugins/flow.ts'
import { layers } from '../../plugins/index.ts'
import { stagesFault } from '../../plugins/legality.ts'
import { type Reply, replyFromBytes } from '../../plugins/reply.ts'
import { sayFault } from '../../plugins/schema.ts'
import { allNative, startFoldingRig } from '../e2e/folding-rig.ts'
import { get, post, postLive } from '../support/ask.ts'
import { chatChunk, dataEvent, sseHead } from '../support/chat-replies.ts'
import { startTestGateway } from '../support/gateway.ts'
import { json } from '../support/reply.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { startUpstream } from '../support/upstream.ts'

/** What can be seen of the guide's layer from outside, in a product that has it. Printed as JSON. */
export interface Appearance {
  readonly status: { readonly passed: string; readonly refused: string; readonly elsewhere: string }
  readonly refused: { readonly status: number; readonly retryAfter: string; readonly body: unknown }
  readonly metrics: string
  readonly rows: readonly { readonly name: string; readonly on: boolean }[]
  readonly fault: string
  readonly fromEnvironment: unknown
  readonly orderFaults: readonly string[]
  /** At the runner: the status of a call, what is said of a wrong directive, and why auth may not move alone. */
  readonly moved: { readonly status: string; readonly wrong: string; readonly whyNot: string }
  /** What the guide's transform makes of {@link said} under the names `a` and `b`. */
  readonly renamed: readonly [a: string, b: string]
}

/** One event of model `a`, spaced as no serialiser of ours would. */
export const said =
  'data:  {"model": "a",  "choices": [{"index":0,"delta":{"content":"hi"},"finish_reason":"stop"}]}\n\n'

const asked = { model: 'm', messages: [{ role: 'user', content: 'hi' }] }

async function served(): Promise<Pick<Appearance, 'status' | 'refused' | 'metrics' | 'rows'>> {
  await using upstream = await startUpstream(
    sseHead()
      .send(dataEvent(chatChunk({ content: 'hi' })))
      .stall(),
  )
  await using gateway = await startTestGateway({ runners: [upstream.url], layers: { headroom: { maxCalls: 1 } } })
  const url = `${gateway.url}/v1/chat/completions`
  await using long = await postLive(url, { ...asked, stream: true })
  await upstream.began(0)
  const refused = await post(url, asked)
  upstream.play(json({ object: 'list', data: [] }))
  const elsewhere = await get(`${gateway.url}/v1/models`)
  upstream.release()
  const status = (answer: { readonly headers: Readonly<Record<string, string>> }) =>
    answer.headers['x-layer-status'] ?? ''
  const retryAfter = refused.headers['retry-after'] ?? ''
  return {
    status: { passed: status(long.response), refused: status(refused), elsewhere: status(elsewhere) },
    refused: { status: refused.status, retryAfter, body: JSON.parse(refused.text) },
    metrics: (await get(`${gateway.adminUrl}/metrics`)).text,
    rows: JSON.parse((await get(`${gateway.adminUrl}/-/layers`)).text).layers,
  }
}

async function moved(): Promise<Appearance['moved']> {
  await using rig = await startFoldingRig({
    stages: { ...allNative, headroom: 'native' },
    layers: { headroom: { maxCalls: 4 } },
  })
  const passed = await rig.chat()
  const wrong = await rig.chat({ execution_context: { headroom: { share: 2 } } })
  const sections = { auth: { anonymous: true }, headroom: { maxCalls: 4 } }
  const runners = [{ name: 'a', kind: 'native', url: 'http://127.0.0.1:8000' }]
  const config = configSchema.parse({ runners, layers: sections })
  const whyNot = stagesFault(movableLayers(config, layers), (name) => ({
    stage: name === 'auth' ? 'native' : 'gateway',
  }))
  return {
    status: passed.headers.get('x-layer-status') ?? '',
    wrong: wrong.headers.get('x-fallback-reason') ?? '',
    whyNot: whyNot ?? '',
  }
}

async function configured(): Promise<Pick<Appearance, 'fault' | 'fromEnvironment'>> {
  await using dir = createTempDir()
  const load = (section: string, env: NodeJS.ProcessEnv = {}) => {
    const runners = 'runners: [ { name: a, kind: openai, url: "http://127.0.0.1:8000" } ]'
    writeFileSync(dir.file('gateway.yaml'), `${runners}\nlayers:\n  headroom: ${section}\n`)
    return loadConfig(dir.file('gateway.yaml'), { schema: configSchema, env })
  }
  const whyNot = (): string => {
    try {
      load('{ maxCalls: 0 }')
      return ''
    } catch (reason) {
      return sayFault((reason as GatewayError).detail.faults?.[0])
    }
  }
  const { config } = load('{ maxCalls: 64 }', { FOLDGATE__LAYERS__HEADROOM__MAX_CALLS: '32' })
  return { fault: whyNot(), fromEnvironment: config.layers['headroom'] }
}

async function renamed(model: string): Promise<string> {
  // Only the copy has this file.
  const transform = (await import(`../../plugins/${'headroom'}/renamed.ts`)) as {
    renamed(reply: Reply, model: string): Reply
  }
  const reply = replyFromBytes({ status: 200, streamed: true, source: 'runner' }, 'events', [Buffer.from(said)])
  let text = ''
  for await (const part of transform.renamed(reply, model).bytes()) text += part.toString()
  return text
}

async function appear(): Promise<Appearance> {
  const names = [await renamed('a'), await renamed('b')] as const
  const seen = { ...(await served()), ...(await configured()), moved: await moved() }
  return { ...seen, orderFaults: orderFaults(layers), renamed: names }
}

if (import.meta.main) console.log(JSON.stringify(await appear()))
