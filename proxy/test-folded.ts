import { writeFileSync } from 'node:fs'
import { type Runner, startRunner } from '../native-runner/runner.ts'
import { createVerifyingKey } from '../plugins/jws-key.ts'
import { startTestGateway, type TestGateway } from '../test/support/gateway.ts'
import { createTempDir } from '../test/support/temp-dir.ts'

/** What a folded pair is started with. */
export interface FoldedPairOptions {
  /** Default: postprocess alone, taking e-mail addresses out. */
  readonly layers?: Readonly<Record<string, unknown>>
  /** Hosts that the runner opens connections to. */
  readonly egress?: readonly string[]
  /** Where layers start. */
  readonly stages?: Readonly<Record<string, string>>
  /** Id of the key that the runner knows; default the gateway's own, `k1`. */
  readonly kid?: string
}

/** A gateway and the echo runner that it folds layers into, in this process, over real sockets. */
export interface FoldedPair extends AsyncDisposable {
  readonly gateway: TestGateway
  readonly runner: Runner
  /** The directory of its keys. */
  readonly base: string
  /** The configuration as a file would say it, on ports of its own. */
  readonly sections: Readonly<Record<string, unknown>>
  /** One chat that says this; the answer and its headers. */
  chat(content: string, headers?: Readonly<Record<string, string>>): Promise<{ text: string; headers: Headers }>
}

const postprocess = { postprocess: { pii: { mode: 'redact', types: ['email'] } } }

/** Starts a {@link FoldedPair}, and waits until the gateway knows the runner. */
export async function startFoldedPair(options: FoldedPairOptions = {}): Promise<FoldedPair> {
  const { layers = postprocess, egress = [], stages = {}, kid = 'k1' } = options
  const dir = createTempDir()
  const secret = Buffer.alloc(48, 'k').toString('latin1')
  for (const name of ['signing.key', 'runner.key']) writeFileSync(dir.file(name), secret)
  const keys = [createVerifyingKey({ kid, alg: 'HS256', secret: Buffer.from(secret) })]
  const runner = await startRunner({
    engine: 'echo',
    server: { apiKey: secret },
    execution: { keys, egress, log: { info() {}, warn() {}, error() {} } },
  })
  const own = { name: 'gpu-a', kind: 'native', url: runner.url, apiKeyFile: dir.file('runner.key') }
  const signing = { keys: [{ kid: 'k1', alg: 'HS256', secretFile: dir.file('signing.key') }], active: 'k1' }
  const config = { signing, folding: { stages } }
  const gateway = await startTestGateway({ runners: [own], layers, config, base: dir.path })
  await gateway.setup().folding.instances?.ready
  return {
    gateway,
    runner,
    base: dir.path,
    sections: { ...config, runners: [own], layers },
    async chat(content, headers = {}) {
      const answer = await fetch(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ model: 'echo', messages: [{ role: 'user', content }] }),
      })
      return { text: await answer.text(), headers: answer.headers }
    },
    async [Symbol.asyncDispose]() {
      await gateway.close()
      await runner.close(0)
      await dir[Symbol.asyncDispose]()
    },
  }
}
