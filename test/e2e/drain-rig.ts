import { writeFileSync } from 'node:fs'
import { entry } from '../../proxy/cli/test-command.ts'
import { chatChunk, completion, DONE, dataEvent, sseHead } from '../support/chat-replies.ts'
import { type RunningProcess, startProcess } from '../support/processes.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { type Chooser, startUpstream, type Upstream } from '../support/upstream.ts'

/** A gateway in a process of its own, in front of a runner that the test tells what to do. */
export interface DrainRig extends AsyncDisposable {
  readonly upstream: Upstream
  readonly process: RunningProcess
  readonly url: string
  readonly admin: string
  /** Lines of the log with this message. */
  said(message: string): readonly Readonly<Record<string, unknown>>[]
  ready(): Promise<boolean>
}

/** What a test changes of it. */
export interface DrainRigOptions {
  readonly drain: { readonly delayMs: number; readonly graceMs: number }
  readonly listen?: Readonly<Record<string, unknown>>
  readonly script?: Chooser
  readonly config?: Readonly<Record<string, unknown>>
}

const word = (text: string) => dataEvent(chatChunk({ content: text }))

/** Answers by the model: `quick` at once, `long` in a stream of a second, `endless` in one that never ends, `flood` in one of 64 MiB. */
export const byModel: Chooser = (request) => {
  const { model } = request.json()
  if (model === 'long') {
    let stream = sseHead()
    for (let piece = 0; piece < 10; piece++) stream = stream.send(word(`piece ${piece} `)).delay(100)
    return stream.send(DONE)
  }
  if (model === 'endless') return sseHead().send(word('first ')).stall()
  if (model === 'flood') return sseHead().pour(flood)
  return completion('hello')
}

function* flood(): Generator<Buffer> {
  const event = Buffer.from(word('x'.repeat(65_536)))
  for (let sent = 0; sent < 67_108_864; sent += event.length) yield event
}

/** Starts it and waits until it takes calls. */
export async function startDrainRig(options: DrainRigOptions): Promise<DrainRig> {
  const stack = new AsyncDisposableStack()
  const upstream = stack.use(await startUpstream(options.script ?? byModel))
  const dir = stack.use(createTempDir())
  const config = {
    listen: { port: 0, heartbeatMs: 0, ...options.listen },
    admin: { port: 0 },
    drain: options.drain,
    runners: [{ name: 'a', kind: 'openai', url: upstream.url }],
    layers: { auth: { anonymous: true } },
    folding: { stateFile: null },
    ...options.config,
  }
  // JSON is YAML.
  writeFileSync(dir.file('gateway.yaml'), JSON.stringify(config))
  const process = stack.use(
    await startProcess({
      args: [entry, 'serve', dir.file('gateway.yaml')],
      ready: /"url":"(https?:[^"]+)","admin":"(http:[^"]+)"/,
    }),
  )
  const [, url = '', admin = ''] = process.readyMatch
  return {
    upstream,
    process,
    url,
    admin,
    said: (message) =>
      process.stdout
        .split('\n')
        .filter((line) => line.startsWith('{'))
        .map((line) => JSON.parse(line) as Record<string, unknown>)
        .filter(({ msg }) => msg === message),
    ready: async () => (await fetch(`${admin}/healthz/ready`)).ok,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}
