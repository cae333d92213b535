import type { RunnerConfig } from '../config/runners.ts'

/** One runner of the configuration, as the client that calls it needs it; secrets are already read. */
export interface RunnerSettings {
  readonly name: string
  readonly kind: 'native' | 'openai'
  /** Origin, with a base path where the API does not live at the root; a final `/v1` is optional. */
  readonly url: string
  /** Sent as `Authorization: Bearer`. */
  readonly apiKey?: string
  /** More headers to send with every request. */
  readonly headers?: Readonly<Record<string, string>>
  readonly tls?: RunnerTlsSettings
  readonly connectTimeoutMs: number
  readonly firstByteTimeoutMs: number
  readonly idleTimeoutMs: number
  /** How long an idle connection is kept, unless the runner hints at less. */
  readonly keepAliveMs: number
  /** 0: as many as there are calls. */
  readonly maxConnections: number
  readonly maxEventBytes: number
  readonly maxBodyBytes: number
  /** `never` for servers that refuse `stream_options`. */
  readonly includeUsage: 'auto' | 'never'
}

/** TLS towards a runner: PEM bytes, and the name its certificate must have. */
export interface RunnerTlsSettings {
  readonly ca?: Buffer
  readonly cert?: Buffer
  readonly key?: Buffer
  readonly servername?: string
}

/** How often a call may be tried, over all its targets. */
export interface RetrySettings {
  readonly maxAttempts: number
  readonly retryBudgetRatio: number
}

/** The path of a base URL in front of `/v1/…`; empty for the root. */
export function basePath(url: string): string {
  return new URL(url).pathname.replace(/\/+$/, '').replace(/\/v1$/, '')
}

/** How files named in the configuration are read; secrets without their trailing newline. Both throw `config_invalid`. */
export interface Files {
  file(path: string): Buffer
  secretFile(path: string): Buffer
}

/** The runners of a configuration with their secrets read. Throws what `file` throws. */
export function runnerSettings(runners: readonly RunnerConfig[], { file, secretFile }: Files): RunnerSettings[] {
  return runners.map(({ tls, apiKeyFile, ackKeyFile: _ack, ...runner }) => ({
    ...runner,
    maxBodyBytes: 64 * 1024 * 1024,
    ...(apiKeyFile ? { apiKey: secretFile(apiKeyFile).toString('utf8') } : {}),
    ...(tls.caFile || tls.certFile || tls.serverName ? { tls: tlsOf(tls, file) } : {}),
  }))
}

function tlsOf(
  { caFile, certFile, keyFile, serverName }: RunnerConfig['tls'],
  file: (path: string) => Buffer,
): RunnerTlsSettings {
  return {
    ...(caFile ? { ca: file(caFile) } : {}),
    ...(certFile ? { cert: file(certFile) } : {}),
    ...(keyFile ? { key: file(keyFile) } : {}),
    ...(serverName ? { servername: serverName } : {}),
  }
}
