import type { Socket } from 'node:net'

/** What of a request an upstream must know. */
export interface UpstreamRequest {
  /** The connection goes with this answer: HTTP/1.0, or asked for. */
  readonly closes: boolean
  /** The caller wants the usage event. */
  readonly usage: boolean
}

const headEnd = Buffer.from('\r\n\r\n')

/**
 * Reads requests from a socket as cheaply as it can be done: the length of each body from its head, and nothing else. Only bodies with a
 * `Content-Length` are understood.
 */
export function readRequests(socket: Socket, heard: (request: UpstreamRequest) => void): void {
  let held: Buffer | undefined
  let left = 0
  let closes = false
  let usage = false
  const take = (bytes: Buffer): void => {
    let rest = bytes
    while (rest.length > 0) {
      if (left === 0) {
        const end = rest.indexOf(headEnd)
        if (end === -1) {
          held = rest
          return
        }
        const head = rest.toString('latin1', 0, end)
        left = Number(/content-length: *(\d+)/i.exec(head)?.[1] ?? 0)
        closes = head.startsWith('HTTP/1.0', head.indexOf(' HTTP/') + 1) || /\r\nconnection: *close/i.test(head)
        usage = false
        rest = rest.subarray(end + 4)
      }
      const body = Math.min(left, rest.length)
      usage ||= rest.subarray(0, body).includes('"include_usage":true')
      left -= body
      rest = rest.subarray(body)
      if (left > 0) return
      heard({ closes, usage })
    }
  }
  socket.on('data', (bytes: Buffer) => {
    const whole = held ? Buffer.concat([held, bytes]) : bytes
    held = undefined
    take(whole)
  })
  socket.on('error', () => socket.destroy())
}
