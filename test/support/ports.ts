import { type AddressInfo, createServer } from 'node:net'

const REDIS_BUS_OFFSET = 10_000

/** A port on 127.0.0.1 that nobody listens on now; nothing keeps it free. */
export async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((done, fail) => server.once('error', fail).listen(0, '127.0.0.1', done))
  const { port } = server.address() as AddressInfo
  await new Promise((done) => server.close(done))
  return port
}

/** Below these, systems take no port for a connection that goes out: a server that starts again finds its own free. */
const [lowest, highest] = [11_000, 22_000]

/** A free port whose neighbour 10000 above is free as well: what a Redis Cluster node needs for its bus. */
export async function freePortWithBus(): Promise<number> {
  for (;;) {
    const port = lowest + Math.floor(Math.random() * (highest - lowest))
    if ((await isFree(port)) && (await isFree(port + REDIS_BUS_OFFSET))) return port
  }
}

function isFree(port: number): Promise<boolean> {
  const server = createServer()
  return new Promise((done) => {
    server.once('error', () => done(false))
    server.listen(port, '127.0.0.1', () => server.close(() => done(true)))
  })
}
