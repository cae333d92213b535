import { writeFileSync } from 'node:fs'
import type { Fault } from '../plugins/errors.ts'
import { defineLayer } from '../plugins/layer.ts'
import { createSchema, type JsonSchema } from '../plugins/schema.ts'
import { createTempDir, type TempDir } from '../test/support/temp-dir.ts'
import { type LoadedConfig, loadConfig } from './load.ts'
import { createConfigSchema } from './schema.ts'

const layer = (name: string, json: JsonSchema, warnings?: (config: Record<string, unknown>) => Fault[]) =>
  defineLayer({
    name,
    reads: [],
    writes: [],
    answers: false,
    rewrites: false,
    meters: false,
    routes: ['chat'],
    config: createSchema<Record<string, unknown>>({ type: 'object', additionalProperties: false, ...json }),
    ...(warnings ? { warnings } : {}),
    open: () => ({}),
  })

const unlisted = ({ input_hash_fields }: Record<string, unknown>): Fault[] =>
  input_hash_fields ? [{ path: 'input_hash_fields', message: 'is doubtful' }] : []

/** Three small layers, shaped like real ones, so that these tests hang on no layer's own settings. */
export const testLayers = [
  layer('auth', {
    properties: {
      anonymous: { type: 'boolean', default: false },
      apiKeys: { type: 'array', default: [], items: { $ref: '#/$defs/key' } },
    },
    $defs: {
      key: {
        type: 'object',
        additionalProperties: false,
        required: ['id'],
        properties: { id: { type: 'string' }, hashFile: { type: ['string', 'null'], default: null } },
      },
    },
  }),
  layer(
    'cache',
    {
      properties: {
        ttl_seconds: { type: 'integer', minimum: 0, default: 300 },
        input_hash_fields: { type: ['array', 'null'], default: null, items: { type: 'string' } },
      },
    },
    unlisted,
  ),
  layer('routing', {
    required: ['targets'],
    properties: {
      targets: {
        type: 'array',
        minItems: 1,
        items: {
          type: 'object',
          additionalProperties: false,
          required: ['runner', 'model'],
          properties: {
            runner: { type: 'string' },
            model: { type: 'string' },
            weight: { type: 'number', minimum: 0, default: 1 },
          },
        },
      },
    },
  }),
]

/** The schema of a configuration with {@link testLayers}. */
export const testSchema = createConfigSchema(testLayers)

/** The least that is right. */
export const leastConfig = 'runners: [ { name: gpu-a, kind: openai, url: "http://127.0.0.1:8000" } ]\n'

/** A directory with a configuration in it. */
export interface ConfigDir extends TempDir {
  readonly config: string
  write(name: string, content: string | Buffer): string
  load(env?: NodeJS.ProcessEnv): LoadedConfig
}

/** Makes a directory with a configuration file; disposing it removes it. */
export function createConfigDir(text: string, name = 'gateway.yaml'): ConfigDir {
  const dir = createTempDir()
  const write = (file: string, content: string | Buffer): string => {
    writeFileSync(dir.file(file), content)
    return dir.file(file)
  }
  const config = write(name, text)
  return { ...dir, config, write, load: (env = {}) => loadConfig(config, { schema: testSchema, env }) }
}

/** What loading found wrong, a line a fault: `path (line N): message`; empty when nothing. */
export function faultsOf(load: () => unknown): string[] {
  try {
    load()
    return []
  } catch (reason) {
    const { faults } = (reason as { detail: { faults: readonly { path: string; line?: number; message: string }[] } })
      .detail
    return faults.map(({ path, line, message }) => `${path} (line ${line ?? '-'}): ${message}`)
  }
}
