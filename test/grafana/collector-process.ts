import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { root } from '../docs/page.ts'
import { freePort } from '../support/ports.ts'
import { startProcess } from '../support/processes.ts'
import { createTempDir } from '../support/temp-dir.ts'

/**
 * A collector with the tail_sampling processor: `OTELCOL`, else `otelcol-contrib` on the PATH, else a Jaeger 2 (`JAEGER`, or `jaeger` on the
 * PATH), which is a collector too; undefined: there is none.
 */
export const collectorProgram: string | undefined = [
  process.env['OTELCOL'],
  'otelcol-contrib',
  process.env['JAEGER'],
  'jaeger',
].find((program) => program !== undefined && spawnSync(program, ['--help'], { stdio: 'ignore' }).status === 0)

/** The configuration that comes with the product. */
export const collectorFile: string = resolve(root, 'grafana/collector.yaml')

/** Validates a configuration and gives back what the collector has against it; empty: nothing. */
export function collectorFaults(file: string): string {
  const { status, stdout, stderr } = spawnSync(collectorProgram ?? '', ['validate', `--config=${file}`], {
    encoding: 'utf8',
  })
  return status === 0 ? '' : `${stdout}${stderr}`
}

/** A real collector with the product's configuration, in front of a store. */
export interface Collector extends AsyncDisposable {
  /** Where it takes OTLP over HTTP. */
  readonly url: string
}

/** Starts it; it decides 300 ms after a trace has begun. */
export async function startCollector(store: string): Promise<Collector> {
  const dir = createTempDir()
  const listen = `127.0.0.1:${await freePort()}`
  // Merged over the product's own; JSON is YAML.
  const more = { service: { telemetry: { metrics: { level: 'none' } } }, processors: { batch: { timeout: '50ms' } } }
  writeFileSync(dir.file('more.yaml'), JSON.stringify(more))
  const collector = await startProcess({
    command: collectorProgram ?? '',
    args: [`--config=${collectorFile}`, `--config=${dir.file('more.yaml')}`],
    env: { LISTEN: listen, STORE: store, DECISION_WAIT: '300ms' },
    ready: /Everything is ready/,
    readyWithinMs: 30_000,
  })
  return {
    url: `http://${listen}`,
    async [Symbol.asyncDispose]() {
      await collector[Symbol.asyncDispose]()
      await dir[Symbol.asyncDispose]()
    },
  }
}
