import { layers } from '../plugins/index.ts'
import { type LoadedConfig, loadConfig } from './load.ts'
import { createConfigSchema } from './schema.ts'

/** The schema of the configuration with every layer that this product has. */
export const configSchema = createConfigSchema(layers)

/** Reads and checks a configuration file against {@link configSchema}, under this process's environment. Throws `config_invalid`. */
export function loadGatewayConfig(file: string): LoadedConfig {
  return loadConfig(file, { schema: configSchema })
}
