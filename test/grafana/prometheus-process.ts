import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { freePort } from '../support/ports.ts'
import { startProcess } from '../support/processes.ts'
import { createTempDir, type TempDir } from '../support/temp-dir.ts'
import { promtool } from './promtool.ts'

/** True when `prometheus` (Debian's package of that name, 2.42 or later) is on the PATH. */
export const prometheusAvailable: boolean = spawnSync('prometheus', ['--version']).status === 0

/** A real Prometheus of the test's own that keeps exemplars. */
export interface Prometheus extends AsyncDisposable {
  /** Asks its API and gives back `data`. Throws what the API says is wrong. */
  ask<Data>(path: string, query: Readonly<Record<string, string>>): Promise<Data>
}

/** What it reads. */
export interface PrometheusOptions {
  /** Entries of `scrape_configs`. */
  readonly scrapes: readonly object[]
  /** Default 100ms. */
  readonly every?: string
  /** Rule files, evaluated once a second. */
  readonly rules?: readonly string[]
  /** What it has read before it starts: texts in OpenMetrics with a time at every sample, each of a short time. */
  readonly history?: readonly string[]
}

/** Starts it. For one target, a host and a port are enough. */
export async function startPrometheus(reads: string | PrometheusOptions): Promise<Prometheus> {
  const options = typeof reads === 'string' ? { scrapes: [scrapeOf('foldgate', reads)] } : reads
  const dir = createTempDir()
  const url = `http://127.0.0.1:${await freePort()}`
  writeHistory(dir, options.history ?? [])
  writeFileSync(dir.file('prometheus.yml'), configFrom(options))
  const prometheus = await startProcess({
    command: 'prometheus',
    args: [
      `--config.file=${dir.file('prometheus.yml')}`,
      `--storage.tsdb.path=${dir.file('data')}`,
      '--storage.tsdb.retention.time=60d',
      `--web.listen-address=${url.slice('http://'.length)}`,
      '--enable-feature=exemplar-storage',
    ],
    ready: /Server is ready to receive web requests/,
    readyWithinMs: 30_000,
  })
  return {
    async ask<Data>(path: string, query: Readonly<Record<string, string>>) {
      const answer = await fetch(`${url}${path}?${new URLSearchParams(query)}`)
      const { data, error } = (await answer.json()) as { data: Data; error?: string }
      if (error !== undefined) throw new Error(`${error}: ${JSON.stringify(query)}`)
      return data
    },
    async [Symbol.asyncDispose]() {
      await prometheus[Symbol.asyncDispose]()
      await dir[Symbol.asyncDispose]()
    },
  }
}

/** An entry of `scrape_configs` for one target, with more of what such an entry can have. */
export function scrapeOf(job: string, target: string, more: object = {}): object {
  return { job_name: job, static_configs: [{ targets: [target] }], ...more }
}

// JSON is YAML.
function configFrom({ scrapes, every = '100ms', rules = [] }: PrometheusOptions): string {
  const times = { scrape_interval: every, scrape_timeout: every, evaluation_interval: '1s' }
  return JSON.stringify({ global: times, rule_files: rules, scrape_configs: scrapes })
}

function writeHistory(dir: TempDir, history: readonly string[]): void {
  for (const [index, text] of history.entries()) {
    const file = dir.file(`history-${index}`)
    writeFileSync(file, text)
    const { status, said } = promtool('tsdb', 'create-blocks-from', 'openmetrics', '--quiet', file, dir.file('data'))
    if (status !== 0) throw new Error(said)
  }
}
