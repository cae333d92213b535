import { readFile } from 'node:fs/promises'
import { Socket } from 'node:net'

/** How long a segment waits for its reader before the next one goes out all the same, in milliseconds. */
const READER_PATIENCE_MS = 100
/** The gap behind a segment for a reader in another process, in milliseconds. */
const GAP_MS = 3

/** How it is known that a reader in another process has read a segment: by a gap, or from the kernel's tables. */
export type Pacing = 'gap' | 'proved'

/**
 * Writes each piece as a TCP segment of its own and waits, after each, for the peer to read it, so that no two pieces
 * reach the peer in one read. A peer in this process is asked what it has read; for another process there is a gap of
 * 3 ms, or with `proved` a look into the kernel's socket table (about 10 ms a piece, Linux only). A peer that does not
 * read delays a piece by a tenth of a second at most. Resolves false when the socket died before the last piece was out.
 */
export async function writeSegments(
  socket: Socket,
  pieces: readonly Buffer[],
  pacing: Pacing = 'gap',
): Promise<boolean> {
  socket.setNoDelay(true)
  for (const piece of pieces) {
    if (piece.length === 0) continue
    if (!(await writeFlushed(socket, piece))) return false
    await peerHasRead(socket, pacing)
  }
  return !socket.destroyed
}

/** Writes bytes and resolves when the kernel took them; false when the socket died instead. */
export function writeFlushed(socket: Socket, bytes: Buffer): Promise<boolean> {
  if (socket.destroyed || !socket.writable) return Promise.resolve(false)
  return new Promise((done) => {
    const gone = () => done(false)
    socket.once('close', gone)
    socket.write(bytes, (error) => {
      socket.off('close', gone)
      done(!error)
    })
  })
}

const turn = () => new Promise<void>((done) => setImmediate(done))
const gap = (ms: number) => new Promise<void>((done) => setTimeout(done, ms))

async function peerHasRead(socket: Socket, pacing: Pacing): Promise<void> {
  const end = performance.now() + READER_PATIENCE_MS
  await turn()
  const peer = peerInThisProcess(socket)
  if (!peer && pacing === 'gap') return gap(GAP_MS)
  const hasRead = peer ? () => peer.destroyed || peer.bytesRead >= socket.bytesWritten : () => kernelSaysRead(socket)
  for (let look = 0; !(await hasRead()); look++) {
    if (socket.destroyed || performance.now() > end) return
    await (look < 8 ? turn() : gap(1))
  }
}

/** The other end of the connection, where it is a socket of this process. */
function peerInThisProcess(socket: Socket): Socket | undefined {
  const { _getActiveHandles: handles } = process as unknown as { _getActiveHandles(): readonly unknown[] }
  return handles
    .call(process)
    .find(
      (handle): handle is Socket =>
        handle instanceof Socket && handle.localPort === socket.remotePort && handle.remotePort === socket.localPort,
    )
}

/** True when nothing lies unread in the peer's socket, or where the kernel does not tell (then after a gap). */
async function kernelSaysRead(socket: Socket): Promise<boolean> {
  if (socket.destroyed || socket.remoteFamily !== 'IPv4') return true
  const ends = `${endpoint(socket.remoteAddress!, socket.remotePort!)} ${endpoint(socket.localAddress!, socket.localPort!)}`
  const table = await readFile('/proc/net/tcp', 'latin1').catch(() => '')
  const at = table.indexOf(` ${ends} `)
  if (at < 0) return gap(GAP_MS).then(() => true)
  const unread = /^ \S+ \S+ \S+ \S+:(\S+) /.exec(table.slice(at, at + 80))
  return unread === null || Number.parseInt(unread[1]!, 16) === 0
}

/** An IPv4 address and port as `/proc/net/tcp` prints them: little-endian hexadecimal. */
function endpoint(address: string, port: number): string {
  const hex = (value: number, width: number) => value.toString(16).toUpperCase().padStart(width, '0')
  const octets = address.split('.').reverse()
  return `${octets.map((octet) => hex(Number(octet), 2)).join('')}:${hex(port, 4)}`
}
