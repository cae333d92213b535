import type { Host } from '../host.ts'
import type { Acting } from '../layer.ts'
import { createRouting } from './act.ts'
import type { RoutingConfig } from './config.ts'
import { checkRouting } from './faults.ts'
import { fold } from './fold.ts'

/** The gateway half. Throws `config_invalid`. */
export function openRouting(config: RoutingConfig, host: Host): Acting {
  checkRouting(config, host.runners.names)
  return createRouting(fold(config, host), host)
}
