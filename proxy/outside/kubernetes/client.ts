import { request as plain } from 'node:http'
import { type RequestOptions, request as secure } from 'node:https'
import type { KubeConfig } from '@kubernetes/client-node'
import { type GatewayError, gatewayError } from '../../../plugins/errors.ts'

/** A request to the API server. */
export interface KubeRequest {
  readonly method: 'GET' | 'POST' | 'PATCH'
  /** Such as `/apis/apps/v1/namespaces/llm/deployments/runner`, its parts percent-encoded. */
  readonly path: string
  readonly query?: Readonly<Record<string, string>>
  /** Sent as JSON. */
  readonly body?: unknown
  /** Default `application/json`; a PATCH says which kind of patch it is. */
  readonly contentType?: string
}

/** What the API server said. */
export interface KubeAnswer {
  readonly status: number
  /** The document; undefined where there was none that is JSON. */
  readonly body: unknown
}

/** The API server of one cluster. */
export interface Kube {
  /** Of the service account or of the kubeconfig's context; `default` where neither says. */
  readonly namespace: string
  /** Throws `runner_unreachable` and `runner_timeout`; any status is an answer. */
  send(request: KubeRequest): Promise<KubeAnswer>
}

/** How to reach a cluster. */
export interface KubeOptions {
  /** A kubeconfig; null: the service account of this pod. */
  readonly kubeconfigFile: string | null
  /** For one request, in milliseconds; default 5,000. */
  readonly timeoutMs?: number
  /** What `/var/run/secrets/kubernetes.io/serviceaccount` lies under; default the root. */
  readonly root?: string
}

const longestAnswer = 33_554_432

/**
 * Reads how the cluster is reached. Loading the library takes one to two seconds and some 85 MB, so this is called once, at start,
 * and only where the feature is on: never when a rollback is under way. Requests are sent as plain JSON and not through the
 * library's models, which drop every field they do not know: a pod template has to come back whole. Throws `config_invalid`.
 */
export async function openKube(options: KubeOptions): Promise<Kube> {
  const { KubeConfig } = await import('@kubernetes/client-node').catch((cause: unknown) => {
    throw gatewayError('config_invalid', 'folding.kubernetes needs a library: npm install @kubernetes/client-node', {
      cause,
    })
  })
  const config = new KubeConfig()
  try {
    load(config, options)
  } catch (cause) {
    throw gatewayError('config_invalid', `the cluster’s kubeconfig cannot be used: ${(cause as Error).message}`, {
      cause,
    })
  }
  const server = config.getCurrentCluster()?.server
  if (!server || !URL.canParse(server)) {
    throw gatewayError('config_invalid', 'this is no pod with a service account, and no kubeconfigFile is given')
  }
  const namespace = config.getContextObject(config.getCurrentContext())?.namespace?.trim() || 'default'
  return { namespace, send: (request) => send(config, request, { server, timeoutMs: options.timeoutMs ?? 5_000 }) }
}

function load(config: KubeConfig, { kubeconfigFile, root }: KubeOptions): void {
  if (kubeconfigFile !== null) config.loadFromFile(kubeconfigFile)
  else if (process.env['KUBERNETES_SERVICE_HOST'] && process.env['KUBERNETES_SERVICE_PORT'])
    config.loadFromCluster(root)
}

interface Line {
  readonly server: string
  readonly timeoutMs: number
}

async function send(config: KubeConfig, asked: KubeRequest, line: Line): Promise<KubeAnswer> {
  const url = new URL(line.server.replace(/\/+$/, '') + asked.path)
  for (const [name, value] of Object.entries(asked.query ?? {})) url.searchParams.set(name, value)
  const body = asked.body === undefined ? undefined : JSON.stringify(asked.body)
  const signal = AbortSignal.timeout(line.timeoutMs)
  const options: RequestOptions = { method: asked.method, signal, headers: {} }
  try {
    // Reads the token again where it has grown old: a service account's token is replaced while the pod runs.
    await config.applyToHTTPSOptions(options)
    options.headers = { ...headersOf(asked, body), ...options.headers }
    return await exchange(url, options, body)
  } catch (cause) {
    throw unreachable(cause as NodeJS.ErrnoException, signal.aborted)
  }
}

function headersOf({ contentType }: KubeRequest, body: string | undefined): Record<string, string> {
  const headers = { accept: 'application/json', 'user-agent': 'foldgate' }
  return body === undefined ? headers : { ...headers, 'content-type': contentType ?? 'application/json' }
}

function exchange(url: URL, options: RequestOptions, body: string | undefined): Promise<KubeAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<KubeAnswer>()
  const sent = (url.protocol === 'http:' ? plain : secure)(url, options, async (answer) => {
    try {
      const parts: Buffer[] = []
      let length = 0
      for await (const part of answer as AsyncIterable<Buffer>) {
        length += part.length
        if (length > longestAnswer) throw gatewayError('runner_protocol', 'the API server answered too much')
        parts.push(part)
      }
      resolve({ status: answer.statusCode ?? 0, body: jsonFrom(Buffer.concat(parts).toString()) })
    } catch (reason) {
      reject(reason)
    }
  })
  sent.on('error', reject).end(body)
  return promise
}

function jsonFrom(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function unreachable(cause: NodeJS.ErrnoException, late: boolean): GatewayError {
  if (late) return gatewayError('runner_timeout', 'the Kubernetes API server did not answer in time', { cause })
  return gatewayError(
    'runner_unreachable',
    `the Kubernetes API server cannot be reached: ${cause.code ?? cause.message}`,
    {
      cause,
    },
  )
}
