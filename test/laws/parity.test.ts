import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { layers } from '../../plugins/index.ts'
import type { Layer } from '../../plugins/layer.ts'
import { type RunningProcess, startProcess } from '../support/processes.ts'
import { createTempDir, type TempDir } from '../support/temp-dir.ts'
import { lawCases } from './cases.ts'
import { createParity, type Parity } from './parity.ts'

const all: readonly Layer[] = layers
const cases = all.flatMap((layer) =>
  (lawCases[layer.name] ?? []).map((each) => [`${layer.name}: ${each.title}`, layer, each] as const),
)

/** An engine with the models of the cases: it is never asked to generate. */
function listModels(): Promise<{ url: string; close(): void }> {
  const data = ['small', 'large'].map((id) => ({
    id,
    object: 'model',
    created: 0,
    owned_by: 'test',
    max_model_len: 8_192,
  }))
  const server = createServer((_, response) => {
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ object: 'list', data }))
  })
  return new Promise((done) =>
    server.listen(0, '127.0.0.1', () =>
      done({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close: () => server.close() }),
    ),
  )
}

describe('law 5, parity: the two halves agree in essence, from the real two processes', () => {
  let models: Awaited<ReturnType<typeof listModels>>
  let dir: TempDir
  let runner: RunningProcess
  let parity: Parity
  beforeAll(async () => {
    models = await listModels()
    dir = createTempDir()
    const secret = Buffer.from('0123456789abcdef0123456789abcdef')
    const { writeFileSync } = await import('node:fs')
    writeFileSync(dir.file('key'), secret)
    runner = await startProcess({
      args: [
        'native-runner/main.ts',
        ...['--engine', 'openai', '--upstream', models.url, '--port', '0'],
        ...['--key', `k1=${dir.file('key')}`, '--policy-dir', dir.file('policies')],
      ],
      ready: /runner listening on (http:\S+)/,
    })
    parity = await createParity(runner.readyMatch[1] as string, secret)
  }, 30_000)
  afterAll(async () => {
    await parity?.close()
    await runner?.[Symbol.asyncDispose]()
    models?.close()
    await dir?.[Symbol.asyncDispose]()
  })

  it.each(cases)('%s', async (_, layer, each) => {
    for (const { here, there } of await parity.compare(layer, each)) expect(there).toEqual(here)
  })
})
