import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { startRunner } from '../../native-runner/runner.ts'
import type { Acknowledgement, LayerMember } from '../../plugins/acknowledgement.ts'
import { acknowledgementKey, sealAcknowledgement } from '../../plugins/acknowledgement-verify.ts'
import type { Capabilities } from '../../plugins/capabilities.ts'
import type { ExecutionContext } from '../../plugins/execution-context.ts'
import { layers } from '../../plugins/index.ts'
import { createSigningKey } from '../../plugins/jws-key.ts'
import type { Layer } from '../../plugins/layer.ts'
import { answerBody } from './bodies.ts'

/*
 * A native runner whose engine and layers take no time: what is measured in front of it is the gateway. Chats are answered from the script,
 * each with an acknowledgement of its own; capabilities, policies and probes are a real runner's behind it.
 */
const [keyFile = ''] = process.argv.slice(2)
const key = createSigningKey({ kid: 'bench', alg: 'HS256', secret: readFileSync(keyFile) })
const ackKey = acknowledgementKey(key)
const real = await startRunner({ engine: 'echo', model: 'bench', server: { port: 0 }, execution: { keys: [key] } })
const { boot, caps } = (await (await fetch(`${real.url}/.well-known/execution-context`)).json()) as Capabilities
const versions = new Map((layers as readonly Layer[]).map(({ name, native }) => [name, native?.version ?? 1]))
const body = Buffer.from(answerBody(5 * 1024))

function acknowledgementOf({ id, pol, modes }: ExecutionContext): Acknowledgement {
  const members = Object.entries(modes).map(([name, m]): [string, LayerMember] => [
    name,
    { v: versions.get(name) ?? 1, m, o: 'pass', d: 20 },
  ])
  return { runner: { boot, caps, id, pol }, layers: Object.fromEntries(members), usage: { in: 1_200, out: 256 } }
}

function answer(request: IncomingMessage, response: ServerResponse): void {
  const token = request.headers['x-execution-context'] as string | undefined
  const headers: Record<string, string | number> = { 'content-type': 'application/json', 'content-length': body.length }
  if (token) {
    const context = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as ExecutionContext
    headers['x-layer-ack'] = sealAcknowledgement(acknowledgementOf(context), context, { part: 'head', key: ackKey })
  }
  response.writeHead(200, headers)
  response.end(body)
}

async function passOn(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part as Buffer)
  const headers = Object.entries(request.headers).filter(
    ([name]) => !['host', 'connection', 'content-length'].includes(name),
  )
  const answered = await fetch(`${real.url}${request.url}`, {
    method: request.method ?? 'GET',
    headers: headers as [string, string][],
    ...(parts.length > 0 ? { body: Buffer.concat(parts) } : {}),
  })
  const kept = [...answered.headers].filter(
    ([name]) => !['content-length', 'connection', 'transfer-encoding'].includes(name),
  )
  response.writeHead(answered.status, Object.fromEntries(kept))
  response.end(Buffer.from(await answered.arrayBuffer()))
}

const server = createServer((request, response) => {
  if (request.url?.startsWith('/.well-known/')) void passOn(request, response)
  else request.resume().once('end', () => answer(request, response))
})
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => console.log(`listening on ${(server.address() as AddressInfo).port}`))
