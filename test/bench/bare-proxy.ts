import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import { type Dispatcher, Pool } from 'undici'

/**
 * The least that a proxy in Node can be: node:http in front, undici behind, whole bodies, nothing else. Between it and the gateway without
 * layers lies what is the gateway's own. Arguments: its port, the upstream's.
 */
const [port, upstream] = process.argv.slice(2).map(Number)
const pool = new Pool(`http://127.0.0.1:${upstream}`, { pipelining: 1 })
const headers = ['content-type', 'application/json']

createServer((request, response) => {
  const parts: Buffer[] = []
  request.on('data', (part: Buffer) => parts.push(part))
  request.on('end', () => {
    const body = parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts)
    pool.dispatch({ method: 'POST', path: request.url ?? '/', headers, body }, receiver(response))
  })
}).listen(port, '127.0.0.1', () => console.log('listening'))

function receiver(response: ServerResponse): Dispatcher.DispatchHandler {
  const parts: Buffer[] = []
  let status = 502
  return {
    onRequestStart() {},
    onResponseStart(_controller: Dispatcher.DispatchController, code: number, _headers: IncomingHttpHeaders) {
      status = code
    },
    onResponseData(_controller: Dispatcher.DispatchController, part: Buffer) {
      parts.push(part)
    },
    onResponseEnd() {
      const body = parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts)
      response.writeHead(status, { 'content-type': 'application/json', 'content-length': body.length })
      response.end(body)
    },
    onResponseError() {
      response.destroy()
    },
  }
}
