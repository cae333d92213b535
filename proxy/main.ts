import { type LoadedConfig, loadConfig } from '../config/load.ts'
import { createConfigSchema } from '../config/schema.ts'
import { watchFiles } from '../config/watch.ts'
import { layers } from '../plugins/index.ts'
import { type Gateway, startGateway } from './gateway.ts'

/** Reads a configuration file for the product's own layers. Throws `config_invalid` with every fault. */
export function loadGatewayConfig(file: string, env?: NodeJS.ProcessEnv): LoadedConfig {
  const schema = createConfigSchema(layers)
  return loadConfig(file, { schema, ...(env ? { env } : {}) })
}

/**
 * Runs a gateway until the process is told to leave: reloads on SIGHUP and when its files change, drains on SIGTERM and SIGINT, and exits
 * with 0. A second signal changes nothing. Throws what keeps it from starting.
 */
export async function serveForever(file: string): Promise<Gateway> {
  const gateway = await startGateway({ loaded: loadGatewayConfig(file), load: () => loadGatewayConfig(file) })
  const { live, log } = gateway
  const watch = watchFiles({
    files: () => [live.current.file, ...live.current.files],
    changed: () => live.reload('file'),
  })
  process.on('SIGHUP', () => void live.reload('SIGHUP'))
  let leaving = false
  const leave = (signal: NodeJS.Signals): void => {
    if (leaving) return
    leaving = true
    watch.close()
    void gateway.leave(signal).then(() => process.exit(0))
  }
  process.on('SIGTERM', leave)
  process.on('SIGINT', leave)
  log.info({ url: gateway.url, admin: gateway.adminUrl, warnings: live.current.warnings }, 'gateway listening')
  return gateway
}
