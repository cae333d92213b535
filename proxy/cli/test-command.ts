import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { afterEach } from 'vitest'
import { startProcess } from '../../test/support/processes.ts'
import { type AdminOptions, type RunningAdmin, startAdmin } from '../admin/listener.ts'
import { createFakeGateway } from '../admin/test-operations.ts'
import { runCommandLine } from './command-line.ts'
import type { Io } from './verb.ts'
import { verbs } from './verbs.ts'

/** The command line's own file. */
export const entry: string = fileURLToPath(new URL('./foldgate.ts', import.meta.url))

/** A URL where nobody listens. */
export const nobody = 'http://127.0.0.1:1'

/** Runs one command, in a process of its own, to its end. */
export async function foldgate(args: readonly string[], env: Record<string, string> = {}) {
  const child = await startProcess({ args: [entry, ...args], env })
  const { code } = await child.exit
  return { code, out: child.stdout, err: child.stderr }
}

/** Runs one command in this process, to its end: the command line with its verbs as they are, only the process around it is ours. */
export async function foldgateHere(args: readonly string[]) {
  const [out, err]: [string[], string[]] = [[], []]
  const io: Io = {
    out: (text) => void out.push(`${text}\n`),
    say: (text) => void err.push(`${text}\n`),
    env: {},
    color: false,
    terminal: false,
    signal: new AbortController().signal,
  }
  const code = await runCommandLine(args, verbs, io)
  return { code, out: out.join(''), err: err.join('') }
}

const admins: RunningAdmin[] = []
const servers: Server[] = []
afterEach(async () => {
  for (const admin of admins.splice(0)) await admin.close()
  for (const server of servers.splice(0)) server.close()
})

/** An admin port over a gateway that does nothing; gone after the test. */
export async function startFakeGateway(options: Partial<Pick<AdminOptions, 'rules' | 'host'>> = {}) {
  const gateway = createFakeGateway()
  const rules = () => ({ tokens: [], allowedHosts: [] })
  const admin = await startAdmin({ host: '127.0.0.1', port: 0, rules, operations: gateway.operations, ...options })
  admins.push(admin)
  return { gateway, url: admin.url.replace('0.0.0.0', '127.0.0.1') }
}

/** A server that lists models and takes the key `good` or none; gone after the test. */
export async function startFakeRunner(
  models: readonly string[],
  headers: Record<string, string> = {},
): Promise<string> {
  const server = createServer((request, response) => {
    const known = request.url === '/v1/models' || request.url === '/healthz/ready'
    const allowed = [undefined, 'Bearer good'].includes(request.headers.authorization)
    response.writeHead(known ? (allowed ? 200 : 401) : 404, headers)
    response.end(JSON.stringify({ data: models.map((id) => ({ id })) }))
  })
  servers.push(server)
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
