import { once } from 'node:events'
import { connect } from 'node:net'
import { join } from 'node:path'
import { startProcess } from '../../support/processes.ts'

/** The engine that everything in the suite stands in front of, in a process of its own. */
export interface ChainEngine extends AsyncDisposable {
  readonly port: number
  /** How long the model takes for an answer from now on, in milliseconds; at first 0. */
  setModelTime(ms: number): Promise<void>
}

/** Starts the engine. */
export async function startChainEngine(): Promise<ChainEngine> {
  const running = await startProcess({ args: [join(import.meta.dirname, 'engine.ts')], ready: /ports (.*)/ })
  const { engine, time } = JSON.parse(running.readyMatch[1] ?? '{}') as { engine: number; time: number }
  return {
    port: engine,
    async setModelTime(ms) {
      const socket = connect(time, '127.0.0.1', () => socket.write(`${ms}\n`))
      await once(socket, 'data')
      socket.destroy()
    },
    [Symbol.asyncDispose]: () => running[Symbol.asyncDispose](),
  }
}
