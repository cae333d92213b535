import type { RunnerConfig } from '../config/runners.ts'

/** One runner of the configuration, as the client that calls it needs it; secrets are already read. */
export interface RunnerSettings extends Omit<RunnerConfig, 'tls' | 'apiKeyFile' | 'ackKeyFile'> {
  /** Sent as `Authorization: Bearer`. */
  readonly apiKey?: string
  readonly tls?: RunnerTlsSettings
  /** Public key (PEM) of its acknowledgements, where contexts are signed with EdDSA. */
  readonly ackKey?: Buffer
  /** Longest whole answer, in bytes. */
  readonly maxBodyBytes: number
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
  return runners.map(({ tls, apiKeyFile, ackKeyFile, ...runner }) => ({
    ...runner,
    maxBodyBytes: 64 * 1024 * 1024,
    ...(apiKeyFile ? { apiKey: secretFile(apiKeyFile).toString('utf8') } : {}),
    ...(ackKeyFile ? { ackKey: file(ackKeyFile) } : {}),
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
