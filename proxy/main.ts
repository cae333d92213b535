import { loadGatewayConfig } from '../config/installed.ts'
import { watchFiles } from '../config/watch.ts'
import { type Gateway, startGateway } from './gateway.ts'
import { onPanicSignal } from './outside/panic/panic-signal.ts'

/**
 * Runs a gateway until the process is told to leave: reloads on SIGHUP and when its files change, drains on SIGTERM and SIGINT, and exits
 * with 0; SIGUSR2 brings every layer back to the gateway. A second signal changes nothing. Throws what keeps it from starting.
 */
export async function serveForever(file: string): Promise<Gateway> {
  // From the first moment on: without a listener the signal would end the process.
  const started = Promise.withResolvers<Gateway>()
  onPanicSignal((reason) => void started.promise.then((running) => running.panic(reason)))
  const gateway = await startGateway({ loaded: loadGatewayConfig(file), load: () => loadGatewayConfig(file) })
  const { live, log } = gateway
  started.resolve(gateway)
  const watch = watchFiles({
    files: () => [live.current.file, ...live.current.files],
    changed: () => live.reload('file'),
    since: live.current.fingerprint,
  })
  process.on('SIGHUP', () => void live.reload('SIGHUP'))
  let leaving = false
  const leave = (signal: NodeJS.Signals): void => {
    if (leaving) return
    leaving = true
    watch.close()
    gateway.leave(signal).then(
      () => process.exit(0),
      (reason: unknown) => {
        // What could not be closed goes with the process: the calls have ended by now.
        log.error({ reason: reason instanceof Error ? reason.message : 'unknown' }, 'left with something unclosed')
        void log.flush().then(() => process.exit(1))
      },
    )
  }
  process.on('SIGTERM', leave)
  process.on('SIGINT', leave)
  log.info({ url: gateway.url, admin: gateway.adminUrl, warnings: live.current.warnings }, 'gateway listening')
  return gateway
}
