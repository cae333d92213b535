import { type IncomingHttpHeaders, request as plainRequest } from 'node:http'
import { request as tlsRequest } from 'node:https'
import { NoAnswer } from './finding.ts'

/** An HTTP answer with its trailers, and the words for what was asked. */
export interface Said {
  readonly asked: string
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly trailers: NodeJS.Dict<string>
  readonly text: string
}

/** What is sent. */
export interface Sending {
  readonly method?: 'GET' | 'POST' | 'PUT'
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Buffer
  /** What the case does, in words, for the report. */
  readonly words?: string
}

const timeoutMs = 30_000

/** One exchange on a connection of its own, read to its end. Throws {@link NoAnswer}. */
export function exchange(base: string, path: string, sending: Sending): Promise<Said> {
  const { method = 'POST', headers = {}, body, words } = sending
  const asked = `${method} ${path}${words ? `, ${words}` : ''}`
  const url = new URL(base.replace(/\/$/, '') + path)
  return new Promise((resolve, reject) => {
    let reached = false
    const failed = (fault: NodeJS.ErrnoException): void =>
      reject(new NoAnswer(asked, fault.code ?? fault.message, reached))
    const ask = url.protocol === 'https:' ? tlsRequest : plainRequest
    const outgoing = ask(url, { method, headers, agent: false, timeout: timeoutMs }, (incoming) => {
      const parts: Buffer[] = []
      incoming.on('data', (part: Buffer) => void parts.push(part))
      incoming.on('error', failed)
      incoming.on('end', () => {
        const { statusCode = 0, trailers } = incoming
        const text = Buffer.concat(parts).toString()
        resolve({ asked, status: statusCode, headers: incoming.headers, trailers, text })
      })
    })
    outgoing.on('socket', (socket) => socket.once('connect', () => (reached = true)))
    outgoing.on('timeout', () => outgoing.destroy(new Error(`nothing came for ${timeoutMs / 1_000} s`)))
    outgoing.on('error', failed)
    outgoing.end(body)
  })
}

/** An answer in one line: its status, and the problem or the error that it tells of. */
export function inWords({ status, headers, text }: Said): string {
  const kind = headers['content-type']?.split(';')[0] ?? 'no content type'
  const body = text.length > 300 ? `${text.slice(0, 300)}…` : text
  return `${status} ${kind} ${body.replaceAll('\n', '\\n')}`.trim()
}

/** A body as JSON; undefined when it is none. */
export function jsonOf({ text }: Pick<Said, 'text'>): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
