import type { Server } from 'node:http'
import type { Socket } from 'node:net'

/** Closes the connections of a listener that takes no new ones. */
export interface Parting {
  /** Closes what is idle, again and again until `closed` resolves, and everything when its time is up. */
  until(closed: Promise<void>, time: PartingTime): Promise<void>
}

/** How long connections have. */
export interface PartingTime {
  /** Aborts when answers have been ended: everything is closed soon after. */
  readonly deadline: AbortSignal
  /** Aborts when everything is to be closed at once. */
  readonly hurry: AbortSignal
}

const everyMs = 100
/** How long a connection on which nothing was ever said may stay so: longer than a request takes from one that is just being opened. */
const silentMs = 1_000
/** How long answers that were ended at the deadline may take on their way out, should their readers be slow. */
const lastBytesMs = 500

/** Watches a listener's connections. What is asked on them costs nothing. */
export function watchConnections(server: Server): Parting {
  const open = new Set<Socket>()
  const opened = (socket: Socket): void => {
    open.add(socket)
    socket.once('close', () => open.delete(socket))
  }
  server.on('connection', opened)
  // Under TLS the other is the socket below, on which the handshake is read.
  server.on('secureConnection', opened)
  return {
    async until(closed, { deadline, hurry }) {
      const since = performance.now()
      // Node counts neither as idle: connections that become so later, and those that never asked anything.
      const sweep = setInterval(() => {
        server.closeIdleConnections()
        if (performance.now() - since < silentMs) return
        for (const socket of open) if (socket.bytesRead === 0) socket.destroy()
      }, everyMs)
      let last: NodeJS.Timeout | undefined
      const cut = (): void => server.closeAllConnections()
      const cutSoon = (): void => {
        last = setTimeout(cut, lastBytesMs)
      }
      const forget = [onceAborted(deadline, cutSoon), onceAborted(hurry, cut)]
      try {
        await closed
      } finally {
        clearInterval(sweep)
        clearTimeout(last)
        for (const each of forget) each()
      }
    },
  }
}

/** Acts when the signal aborts, at once where it has. Gives back what takes that back. */
function onceAborted(signal: AbortSignal, act: () => void): () => void {
  if (signal.aborted) act()
  else signal.addEventListener('abort', act)
  return () => signal.removeEventListener('abort', act)
}
