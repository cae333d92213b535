import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  type Acknowledgement,
  type AcknowledgementPart,
  acknowledgementHeaders,
} from '../../plugins/acknowledgement.ts'
import { acknowledgementFromText } from '../../plugins/acknowledgement-read.ts'
import { acknowledgementKey, sealAcknowledgement } from '../../plugins/acknowledgement-verify.ts'
import type { ExecutionContext } from '../../plugins/execution-context.ts'
import { signJws, verifyJws } from '../../plugins/jws.ts'
import { createKeyRing, type SigningKey } from '../../plugins/jws-key.ts'
import { exchange } from './exchange.ts'
import { contextHeader } from './subject.ts'

/** A request on its way through. */
export interface Passing {
  readonly method: string
  readonly path: string
  readonly headers: Record<string, string>
  readonly body: Buffer
  /** The payload of its context, where the signature holds. */
  readonly context: ExecutionContext | undefined
}

/** An answer on its way back. */
export interface Coming {
  readonly status: number
  readonly headers: Record<string, string>
  readonly text: string
  readonly trailers: Record<string, string>
}

/** What a fault may use: it holds the key, as the runner that it stands for does. */
export interface FaultTools {
  /** A request with another context, signed anew. */
  resign(passing: Passing, over: Partial<ExecutionContext>): Passing
  /** An answer whose acknowledgement says something else, under a mac that holds for the request as it came. */
  reseal(
    coming: Coming,
    passing: Passing,
    change: (said: Acknowledgement, part: AcknowledgementPart) => Acknowledgement,
  ): Coming
}

/** One thing that a runner does wrong. */
export interface PlantedFault {
  request?(passing: Passing, tools: FaultTools): Passing
  /** Answers instead of the runner; undefined breaks the connection. */
  instead?(passing: Passing): Coming | undefined | 'forward'
  answer?(coming: Coming, passing: Passing, tools: FaultTools): Coming
}

/** A runner with a planted fault: everything goes to a right one, but for what the fault changes on the way. */
export async function startFaultyRunner(target: string, key: SigningKey, fault: PlantedFault): Promise<FaultyRunner> {
  const tools = toolsOf(key)
  const server = createServer((request, response) => void serve(request, response).catch(() => response.destroy()))
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const passing = await passingFrom(request, key)
    const instead = fault.instead ? fault.instead(passing) : 'forward'
    if (instead === undefined) return void response.destroy()
    if (instead !== 'forward') return answer(response, instead)
    const { method, path, headers, body } = fault.request?.(passing, tools) ?? passing
    const sending = { method: method as 'GET', headers, body }
    const { status, headers: came, trailers, text } = await exchange(target, path, sending)
    const coming = { status, headers: plain(came), text, trailers: plain(trailers) }
    answer(response, fault.answer?.(coming, passing, tools) ?? coming)
  }
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
    },
  }
}

/** A listening runner that does something wrong. */
export interface FaultyRunner extends AsyncDisposable {
  readonly url: string
}

async function passingFrom(request: IncomingMessage, key: SigningKey): Promise<Passing> {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part as Buffer)
  const headers = plain(request.headers)
  const read = verifyJws(headers[contextHeader] ?? '', 'exec-ctx+jws', createKeyRing([key]))
  return {
    method: request.method ?? 'GET',
    path: request.url ?? '/',
    headers,
    body: Buffer.concat(parts),
    context: read.ok ? payloadFrom(read.payload) : undefined,
  }
}

function payloadFrom(payload: Buffer): ExecutionContext | undefined {
  const value: unknown = JSON.parse(payload.toString())
  return Array.isArray(value) ? undefined : (value as ExecutionContext)
}

const hopByHop = new Set(['connection', 'keep-alive', 'transfer-encoding', 'content-length', 'host', 'date'])

function plain(headers: IncomingHttpHeaders | NodeJS.Dict<string>): Record<string, string> {
  const entries = Object.entries(headers).filter(([name, value]) => value !== undefined && !hopByHop.has(name))
  return Object.fromEntries(entries) as Record<string, string>
}

function answer(response: ServerResponse, { status, headers, text, trailers }: Coming): void {
  response.writeHead(status, headers)
  response.write(text)
  response.addTrailers(trailers)
  response.end()
}

function toolsOf(key: SigningKey): FaultTools {
  const ackKey = acknowledgementKey(key)
  return {
    resign(passing, over) {
      if (!passing.context) return passing
      const header = signJws(JSON.stringify({ ...passing.context, ...over }), key, 'exec-ctx+jws')
      return { ...passing, headers: { ...passing.headers, [contextHeader]: header } }
    },
    reseal(coming, { context }, change) {
      const anew = (text: string | undefined, part: AcknowledgementPart): Record<string, string> => {
        const read = text === undefined ? undefined : acknowledgementFromText(text)
        if (!read || !context) return {}
        const said = change(read.acknowledgement, part)
        return { [acknowledgementHeaders[part]]: sealAcknowledgement(said, context, { part, key: ackKey }) }
      }
      const { head, end } = acknowledgementHeaders
      return {
        ...coming,
        headers: { ...coming.headers, ...anew(coming.headers[head], 'head') },
        trailers: { ...coming.trailers, ...anew(coming.trailers[end], 'end') },
      }
    },
  }
}
