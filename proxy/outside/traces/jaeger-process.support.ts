import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { freePort } from '../../../test/support/ports.ts'
import { startProcess } from '../../../test/support/processes.ts'
import { createTempDir } from '../../../test/support/temp-dir.ts'

/** The program: `JAEGER`, else `jaeger` on the PATH (`go get -tool github.com/jaegertracing/jaeger/cmd/jaeger@v1.76.0`). */
const program = process.env['JAEGER'] ?? 'jaeger'

/** Whether there is a Jaeger to start; for `describe.skipIf(!jaegerAvailable)`. */
export const jaegerAvailable = answers()

/** A real Jaeger of the test's own, with its store in memory. */
export interface Jaeger extends AsyncDisposable {
  /** Where it takes OTLP over HTTP. */
  readonly otlp: string
  /** Where it is asked. */
  readonly query: string
}

/** Starts it. */
export async function startJaeger(): Promise<Jaeger> {
  const dir = createTempDir()
  const [otlp, query, grpc] = [await freePort(), await freePort(), await freePort()]
  // JSON is YAML.
  writeFileSync(dir.file('config.yaml'), JSON.stringify(configOf(otlp, query, grpc)))
  const jaeger = await startProcess({
    command: program,
    args: ['--config', dir.file('config.yaml')],
    ready: /Everything is ready/,
    readyWithinMs: 30_000,
  })
  return {
    otlp: `http://127.0.0.1:${otlp}`,
    query: `http://127.0.0.1:${query}`,
    async [Symbol.asyncDispose]() {
      await jaeger[Symbol.asyncDispose]()
      await dir[Symbol.asyncDispose]()
    },
  }
}

function configOf(otlp: number, query: number, grpc: number) {
  const at = (port: number) => ({ endpoint: `127.0.0.1:${port}` })
  return {
    service: {
      extensions: ['jaeger_storage', 'jaeger_query'],
      pipelines: { traces: { receivers: ['otlp'], exporters: ['jaeger_storage_exporter'] } },
      telemetry: { metrics: { level: 'none' } },
    },
    extensions: {
      jaeger_query: { storage: { traces: 'memory' }, http: at(query), grpc: at(grpc) },
      jaeger_storage: { backends: { memory: { memory: { max_traces: 10_000 } } } },
    },
    receivers: { otlp: { protocols: { http: at(otlp) } } },
    exporters: { jaeger_storage_exporter: { trace_storage: 'memory' } },
  }
}

function answers(): boolean {
  try {
    execFileSync(program, ['--help'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
