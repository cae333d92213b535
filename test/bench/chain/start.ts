import { join } from 'node:path'
import { type RunningProcess, startProcess } from '../../support/processes.ts'
import type { ChainPlaces } from './places.ts'

/** The services of the chain, in the order in which a request meets them. */
export const chainServices = ['gateway', 'auth', 'limiter', 'cache', 'router', 'template', 'post-processor'] as const

/** A chain that runs: seven processes. Disposing it ends them all. */
export interface Chain extends AsyncDisposable {
  /** Port of its first service. */
  readonly port: number
  /** Its processes, in the order of {@link chainServices}. */
  readonly pids: readonly number[]
}

/** Starts the seven services, the one next to the engine first, and asks each whether it is well. Throws, with its output, when one is not. */
export async function startChain(places: ChainPlaces): Promise<Chain> {
  await using starting = new AsyncDisposableStack()
  const pids: number[] = []
  let next = places.next
  let port = 0
  for (const name of chainServices.toReversed()) {
    const running = starting.use(await startService(name, { ...places, next }))
    port = Number(running.readyMatch[1])
    next = `http://127.0.0.1:${port}`
    pids.unshift(running.pid)
    await expectWell(next, running)
  }
  // From here on they are the caller's to end.
  const started = starting.move()
  return { port, pids, [Symbol.asyncDispose]: () => started.disposeAsync() }
}

function startService(name: string, places: ChainPlaces): Promise<RunningProcess> {
  const args = [join(import.meta.dirname, `${name}.ts`), JSON.stringify(places)]
  return startProcess({ args, ready: /listening (\d+)/ })
}

async function expectWell(url: string, running: RunningProcess): Promise<void> {
  const { status } = await fetch(`${url}/healthz`)
  if (status !== 200) throw new Error(`a service of the chain is not well:\n${running.stdout}${running.stderr}`)
}
