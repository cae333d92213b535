import { randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { until } from '../support/gate.ts'
import { startProcess } from '../support/processes.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { counterMark, requestBody } from './bodies.ts'
import type { ChainSubject } from './chain-load.ts'
import type { Rig } from './rig.ts'

/** What a folded Foldgate is started with. */
export interface FoldedPlan {
  readonly rig: Rig
  /** How both are called. */
  readonly names: { readonly folded: string; readonly runner: string }
  /** Port of the engine behind the runner. */
  readonly engine: number
  /** Redis for the state of gateway and runner; absent: each keeps its own, as one runner may. */
  readonly redis?: string
  /** Ends what was started. */
  readonly stack: AsyncDisposableStack
}

/** A folded Foldgate, and its runner asked directly, without a context: what is between them is what folding costs. */
export interface Folded {
  readonly folded: ChainSubject
  readonly runner: ChainSubject
}

const foldsWithinMs = 15_000

/** {@link start}, or why it cannot be in this tree, in words. */
export async function startFolded(plan: FoldedPlan): Promise<Folded | string> {
  try {
    return await start(plan)
  } catch (fault) {
    return `not available: ${String((fault as Error).message)
      .trimEnd()
      .split('\n')
      .at(-1)}`
  }
}

/**
 * The gateway with every layer at a native runner, which stands in front of the engine and executes all six for real, with limits, answers and
 * profiles on Redis or, without one, in its own memory. Words when a layer does not get there.
 */
async function start({ rig, names, engine, redis, stack }: FoldedPlan): Promise<Folded | string> {
  const dir = stack.use(createTempDir())
  const [key, secret] = [dir.file('key'), 'b'.repeat(32)]
  writeFileSync(key, secret)
  const program = [process.execPath, join(rig.options.tree, 'native-runner/main.ts')]
  const behind = ['--engine', 'openai', '--upstream', `http://127.0.0.1:${engine}`, '--model', 'bench', '--port', '0']
  const store = redis === undefined ? [] : ['--store', redis]
  const state = [...store, '--policy-dir', dir.file('policies'), '--key', `bench=${key}`, '--api-key-file', key]
  const runner = stack.use(
    await startProcess({
      command: program[0] as string,
      args: [...program.slice(1), ...behind, ...state],
      ready: /runner listening on http:\/\/[^:]+:(\d+)/,
    }),
  )
  const { all, authOnRedis, token } = rig.layers
  const upstream = Number(runner.readyMatch[1])
  // A database of its own: gateways on one database share their stages, and the unfolded one beside it is such a gateway.
  const shared = redis === undefined ? {} : { layers: { ...all, auth: authOnRedis }, redis: `${redis}/1` }
  const { port, pid } = await rig.gateway({ layers: all, ...shared, upstream, native: key })
  const subject = { name: names.folded, port, token, unique: true, pids: [pid, runner.pid] }
  const alone = { name: names.runner, port: upstream, token: secret, unique: true, pids: [runner.pid] }
  const folded = await until(async () => (await unfoldedOf(subject)) === undefined, 'folded', foldsWithinMs).then(
    () => true,
    () => false,
  )
  return folded ? { folded: subject, runner: alone } : `not available: ${await unfoldedOf(subject)}`
}

/** What does not sit at the runner when one call is made, in words; undefined when every layer says that it was executed there. */
export async function unfoldedOf({ port, token = '' }: ChainSubject): Promise<string | undefined> {
  const answer = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    // No two alike: what a cache answers does not reach the layers further in.
    body: requestBody(500).replace(counterMark, randomUUID().slice(0, counterMark.length)),
  })
  await answer.arrayBuffer()
  if (answer.status !== 200) return `a call is answered with ${answer.status}`
  const states = (answer.headers.get('x-layer-status') ?? 'no status').split(/, ?/)
  const away = states.filter((state) => !/=evaporation-complete;by=runner/.test(state))
  return away.length === 0 ? undefined : away.join(', ')
}
