import { userInfo } from 'node:os'
import { readSecretFile } from '../../config/secret-file.ts'
import { gatewayError } from '../../plugins/errors.ts'
import { askHttp, type HttpReply } from './http-ask.ts'
import { type Invocation, type Option, textOption } from './verb.ts'

/** Where the admin port is unless `--admin` says otherwise. */
export const defaultAdmin = 'http://127.0.0.1:9901'

/** The options of every verb that asks an admin port. */
export const adminOptions: Readonly<Record<'admin' | 'token-file', Option>> = {
  admin: { type: 'string', multiple: true, help: `admin port, once a replica (default ${defaultAdmin})` },
  'token-file': { type: 'string', help: 'file with the token; not needed where the admin port is on loopback' },
}

/** One admin port, as the command line talks to it. */
export interface AdminClient {
  /** Base URL without a slash at the end. */
  readonly url: string
  /** The JSON of an endpoint. Throws `runner_unreachable`, or an error with what the admin port said. */
  get<T>(path: string): Promise<T>
  /** The JSON of an endpoint that takes its time and may answer 504 when its own deadline is over. */
  wait<T>(path: string, timeoutMs: number): Promise<T>
  /** The JSON that a change answers with; a refused change (4xx, 5xx) is thrown with what the admin port said. */
  post<T>(path: string, body: unknown): Promise<T>
  /** Any endpoint as it answers. */
  ask(path: string): Promise<HttpReply>
}

/** The admin ports that an invocation names. Throws `usage` for what is no URL, `config_invalid` for a token file. */
export function adminsFromInvocation(invocation: Invocation): AdminClient[] {
  const given = invocation.values['admin']
  const urls = Array.isArray(given) ? (given as readonly string[]) : [defaultAdmin]
  const tokenFile = textOption(invocation, 'token-file')
  const token = tokenFile === undefined ? undefined : readSecretFile(tokenFile).toString('latin1').trim()
  return [...new Set(urls)].map((url) => createAdminClient(url, token, invocation.io.signal))
}

function createAdminClient(given: string, token: string | undefined, signal: AbortSignal): AdminClient {
  const parsed = URL.canParse(given) ? new URL(given) : undefined
  if (!parsed || !/^https?:$/.test(parsed.protocol))
    throw gatewayError('usage', `--admin takes a URL such as ${defaultAdmin}`)
  const url = `${parsed.origin}${parsed.pathname}`.replace(/\/+$/, '')
  const headers = {
    accept: 'application/json',
    'x-foldgate-actor': ownName(),
    ...(token ? { authorization: `Bearer ${token}` } : {}),
  }
  const json = { 'content-type': 'application/json' }
  return {
    url,
    ask: (path) => askHttp(url + path, { headers, signal }),
    async get<T>(path: string) {
      return jsonFromReply(await askHttp(url + path, { headers, signal }), url) as T
    },
    async wait<T>(path: string, timeoutMs: number) {
      const reply = await askHttp(url + path, { headers, signal, timeoutMs })
      return jsonFromReply({ ...reply, status: reply.status === 504 ? 200 : reply.status }, url) as T
    },
    async post<T>(path: string, body: unknown) {
      const question = { method: 'POST', headers: { ...headers, ...json }, body: JSON.stringify(body), signal } as const
      return jsonFromReply(await askHttp(url + path, question), url) as T
    },
  }
}

/** Who sits at this terminal, as far as the system says. */
function ownName(): string {
  try {
    const { username } = userInfo()
    return /^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$/.test(username) ? username : 'unknown'
  } catch {
    return 'unknown'
  }
}

function jsonFromReply({ status, text }: HttpReply, url: string): unknown {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw gatewayError('runner_protocol', `${url} does not answer like an admin port (status ${status})`)
  }
  if (status < 400) return value
  const { detail } = value as { detail?: unknown }
  const said = typeof detail === 'string' ? detail : `status ${status}`
  const hint = status === 401 ? '; pass one with --token-file' : ''
  throw gatewayError(status === 404 ? 'not_found' : 'forbidden', `${url}: ${said}${hint}`, { status })
}
