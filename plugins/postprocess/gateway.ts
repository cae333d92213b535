import type { Host } from '../host.ts'
import type { Acting } from '../layer.ts'
import { postprocessActing } from './acting.ts'
import type { Config } from './config.ts'

/** Makes the gateway half. Every set of rules that a call can meet is made ready here. Throws `config_invalid` with every fault. */
export function open(config: Config, host: Host): Acting {
  return postprocessActing({ ...config, declared: [...host.declared] }, host)
}
