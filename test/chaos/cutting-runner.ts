import { createServer, request as httpRequest } from 'node:http'
import type { AddressInfo } from 'node:net'

/** What becomes of an answer to a call that bears a context. `cut`: the connection breaks after so many bytes. */
export type Cut = { readonly cut: number } | 'refuses' | 'unsigned' | undefined

/** A way to a runner on which answers break. What bears no context is answered by the gateway's path: always, and in other words. */
export interface CuttingRunner extends AsyncDisposable {
  leading(url: string): string
  next: Cut
  /** Calls that came without a context. */
  readonly plain: number
}

/** What the gateway's own path says: none of it is in what the runner's path says. */
export const otherWords = 'quite another answer'

/** Starts one. */
export async function startCuttingRunner(): Promise<CuttingRunner> {
  let target = ''
  let plain = 0
  let next: Cut
  const server = createServer((request, response) => {
    const { method, url = '/', headers } = request
    const isCall = url.startsWith('/v1/') && method === 'POST'
    const fate = isCall && headers['x-execution-context'] ? next : undefined
    if (isCall && !headers['x-execution-context']) {
      plain++
      request.resume()
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end(streamOf(otherWords))
      return
    }
    if (fate === 'refuses') {
      request.resume()
      response.writeHead(500, { 'content-type': 'application/json' }).end('{"error":{"message":"broken"}}')
      return
    }
    const onward = httpRequest(`${target}${url}`, { method, headers: { ...headers, host: new URL(target).host } })
    onward.on('response', (came) => {
      const { connection: _, 'keep-alive': __, ...head } = came.headers
      if (fate === 'unsigned') delete head['x-layer-ack']
      response.writeHead(came.statusCode ?? 502, head)
      // So that what is cut at byte 0 has a head.
      response.flushHeaders()
      let left = typeof fate === 'object' ? fate.cut : Number.POSITIVE_INFINITY
      came.on('data', (part: Buffer) => {
        response.write(part.subarray(0, left))
        left -= part.length
        if (left <= 0) setImmediate(() => response.destroy())
      })
      came.on('end', () => {
        if (head['trailer'] !== undefined) response.addTrailers(came.trailers as Record<string, string>)
        if (left > 0) response.end()
      })
      came.on('error', () => response.destroy())
    })
    onward.on('error', () => response.destroy())
    response.on('close', () => onward.destroy())
    request.pipe(onward)
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  return {
    leading(url) {
      target = url
      return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    },
    get next() {
      return next
    },
    set next(fate) {
      next = fate
    },
    get plain() {
      return plain
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
    },
  }
}

function streamOf(text: string): string {
  const chunk = (delta: object, finish: string | null, more = {}) =>
    `data: ${JSON.stringify({ id: 'chatcmpl-o', object: 'chat.completion.chunk', created: 1, model: 'echo', choices: [{ index: 0, delta, finish_reason: finish }], ...more })}\n\n`
  const usage = { prompt_tokens: 3, completion_tokens: 3, total_tokens: 6 }
  return `${chunk({ role: 'assistant', content: text }, null)}${chunk({}, 'stop')}data: ${JSON.stringify({ id: 'chatcmpl-o', object: 'chat.completion.chunk', created: 1, model: 'echo', choices: [], usage })}\n\ndata: [DONE]\n\n`
}
