import { connect } from 'node:net'
import type { GatewayConfig } from '../../config/schema.ts'
import { readNamedFile, readSecretFile, resolveFrom } from '../../config/secret-file.ts'
import { GatewayError } from '../../plugins/errors.ts'
import { broken, doubtful, type Finding, fine } from './finding.ts'
import { askHttp, type HttpReply, wordsFromError } from './http-ask.ts'

/** A configuration to examine: the part that says where things are, and the directory its files are relative to. */
export interface Examined {
  readonly config: Pick<GatewayConfig, 'runners' | 'store' | 'telemetry' | 'layers'>
  readonly base: string
}

type Runner = GatewayConfig['runners'][number]

/** How long anything may take to answer, in milliseconds. */
const patienceMs = 5_000

/** Whether a runner is there, takes our key, and serves the models that routing sends to it; and what its clock says. */
export async function examineRunner(runner: Runner, { config, base }: Examined): Promise<Finding[]> {
  const check = `runner ${runner.name}`
  try {
    const { headers, ca } = credentials(runner, base)
    const at = runner.url.replace(/\/+$/, '').replace(/\/v1$/, '')
    const ask = (path: string): Promise<HttpReply> =>
      askHttp(at + path, { headers, timeoutMs: patienceMs, ...(ca ? { ca } : {}) })
    const reply = await ask('/v1/models')
    const health = runner.kind === 'native' ? [findingFromHealth(check, await ask('/healthz/ready'))] : []
    return [
      ...health,
      findingFromModels(runner, reply, wantedModels(config, runner.name)),
      ...clockFindings(check, reply),
    ]
  } catch (reason) {
    if (!(reason instanceof GatewayError)) throw reason
    return [broken(check, reason.message, 'start it, or correct its url, key file or tls in the configuration')]
  }
}

function credentials(runner: Runner, base: string): { headers: Record<string, string>; ca: Buffer | undefined } {
  const key = runner.apiKeyFile && readSecretFile(resolveFrom(base, runner.apiKeyFile)).toString('latin1')
  const ca = runner.tls.caFile ? readNamedFile(resolveFrom(base, runner.tls.caFile)) : undefined
  return { headers: { ...runner.headers, ...(key ? { authorization: `Bearer ${key}` } : {}) }, ca }
}

function findingFromHealth(check: string, { status }: HttpReply): Finding {
  if (status === 200) return fine(check, 'says that it is ready')
  return broken(
    check,
    `says that it is not ready (status ${status})`,
    'wait until its model is loaded, or look at its log',
  )
}

function findingFromModels(runner: Runner, { status, text }: HttpReply, wanted: readonly string[]): Finding {
  const check = `runner ${runner.name}`
  if (status === 401 || status === 403) {
    return broken(check, `refuses our key (status ${status})`, `correct runners.${runner.name}.apiKeyFile`)
  }
  const models = status === 200 ? modelsFromText(text) : undefined
  if (!models)
    return broken(check, `does not list its models (status ${status})`, 'is this a server with the OpenAI API?')
  const missing = wanted.filter((model) => !models.includes(model))
  if (missing.length === 0) return fine(check, `serves ${models.slice(0, 8).join(', ') || 'no model yet'}`)
  return broken(check, `does not serve ${missing.join(', ')}`, 'correct layers.routing.targets, or load the model')
}

function modelsFromText(text: string): string[] | undefined {
  try {
    const { data } = JSON.parse(text) as { data?: unknown }
    return Array.isArray(data)
      ? data.flatMap(({ id }: { id?: unknown }) => (typeof id === 'string' ? [id] : []))
      : undefined
  } catch {
    return undefined
  }
}

/** Models that routing sends to a runner. */
function wantedModels({ layers }: Examined['config'], runner: string): string[] {
  const { targets = [] } = (layers['routing'] ?? {}) as { targets?: readonly { runner?: unknown; model?: unknown }[] }
  const here = targets.flatMap((target) =>
    target.runner === runner && typeof target.model === 'string' ? [target.model] : [],
  )
  return [...new Set(here)]
}

/** Whether the other side's clock agrees with ours: signed contexts are refused when it is 30 seconds off. */
export function clockFindings(check: string, { headers }: Pick<HttpReply, 'headers'>): Finding[] {
  const date = Date.parse(String(headers['date']))
  if (Number.isNaN(date)) return []
  const seconds = Math.round(Math.abs(Date.now() - date) / 1_000)
  const next = 'let both machines take their time from the same source (NTP)'
  if (seconds >= 30) return [broken(`clock of ${check}`, `is ${seconds} s off`, next)]
  if (seconds >= 5) return [doubtful(`clock of ${check}`, `is ${seconds} s off`, next)]
  return [fine(`clock of ${check}`, 'agrees with this one')]
}

/** Whether the store is there: its addresses take connections. */
export async function examineStore({ store }: Examined['config']): Promise<Finding[]> {
  if (store.kind === 'embedded') return [fine('store', 'is embedded: limits and cached answers are each replica’s own')]
  const urls = [...(store.sentinel ? store.sentinel.urls : (store.cluster ?? [store.url ?? '']))]
  return Promise.all(urls.map((url) => examineAddress('store', url, 6_379)))
}

/** Whether the collector that spans go to takes connections. */
export async function examineTelemetry({ telemetry }: Examined['config']): Promise<Finding[]> {
  const { otlpEndpoint } = telemetry
  if (otlpEndpoint === null) return [fine('telemetry', 'spans are not exported (telemetry.otlpEndpoint is null)')]
  return [await examineAddress('telemetry', otlpEndpoint, otlpEndpoint.startsWith('https:') ? 443 : 80)]
}

async function examineAddress(check: string, url: string, usualPort: number): Promise<Finding> {
  const { hostname, port } = new URL(url)
  const place = `${hostname}:${port || usualPort}`
  const why = await reach(hostname.replace(/^\[|\]$/g, ''), Number(port) || usualPort)
  if (why === undefined) return fine(check, `${place} takes connections`)
  return broken(check, `${place}: ${why}`, `start it, or correct its address in the ${check} section`)
}

/** Undefined when a connection comes about, else why not. */
function reach(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: patienceMs })
    const end = (why: string | undefined): void => {
      socket.destroy()
      resolve(why)
    }
    socket.once('connect', () => end(undefined))
    socket.once('timeout', () => end(`no connection within ${patienceMs} ms`))
    socket.once('error', (error) => end(wordsFromError(error)))
  })
}
