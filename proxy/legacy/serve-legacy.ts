import type { Call } from '../../plugins/call.ts'
import type { GatewayError } from '../../plugins/errors.ts'
import { type Answer, writeAnswer } from '../answer.ts'
import { type Exchange, type Outgoing, sendFresh } from '../exchange.ts'
import type { Rooms } from '../rooms.ts'
import type { AttemptSpan } from '../telemetry/call-span.ts'
import { frameOf, type Visit } from '../visit.ts'
import { headersFromChain, headersToChain } from './chain-headers.ts'
import type { Legacy, Observation } from './legacy.ts'

/** A call for the chain that serves so far: as it came, and as our layers see it. */
export interface LegacyCall {
  readonly legacy: Legacy
  readonly body: Buffer
  readonly call: Call
}

/**
 * Sends a call on to the existing chain as it came, and its answer to the caller byte for byte. Our layers observe beside it: nothing waits for
 * them, and nothing they say has an effect. Gives back what went wrong, as `writeAnswer` does.
 */
export async function serveLegacy(
  rooms: Rooms,
  visit: Visit,
  { legacy, body, call }: LegacyCall,
): Promise<GatewayError | undefined> {
  const { setup } = visit
  const observation = legacy.observe(call)
  const span = spanOf(legacy, visit)
  let exchange: Exchange | undefined
  const error = await writeAnswer(frameOf(rooms, visit), async () => {
    exchange = await asked(legacy, visit, { body, span })
    visit.record.source = 'runner'
    return answerFrom(exchange, legacy, observation)
  })
  span?.end({ status: exchange?.status, error: error?.code })
  setup.use()
  void over(observation, error ? undefined : exchange)
    .catch(() => undefined)
    .finally(setup.leave)
  return error
}

/** The span of the chain's part in a call that is recorded; where nobody records, the caller's own trace goes on as it came. */
function spanOf({ line }: Legacy, { record, caller }: Visit): AttemptSpan | undefined {
  if (!record.span.recording) return undefined
  const { address, port } = line
  const { method = 'POST' } = caller.request
  return record.span.attempt({ runner: line.settings.name, method, address, port, stream: false })
}

interface Sending {
  readonly body: Buffer
  readonly span: AttemptSpan | undefined
}

async function asked(legacy: Legacy, { caller, record }: Visit, { body, span }: Sending): Promise<Exchange> {
  const { line, apiKey, patience } = legacy
  const { request, signal } = caller
  const start = record.elapsedMs()
  const outgoing = (): Outgoing => ({
    method: 'POST',
    path: line.base + (request.url ?? '/'),
    headers: [
      ...headersToChain(request, { key: apiKey, trace: span?.headers }),
      ...Object.entries(line.settings.headers).flat(),
    ],
    body,
    signal,
    patience,
  })
  try {
    return await sendFresh(line.pool, outgoing(), outgoing)
  } finally {
    record.runnerMs += record.elapsedMs() - start
  }
}

function answerFrom(exchange: Exchange, { maxBodyBytes }: Legacy, observation: Observation | undefined): Answer {
  const { status } = exchange
  const headers = headersFromChain(exchange.headers)
  if (/event-stream/i.test(exchange.headers['content-type'] ?? ''))
    return { status, headers, streamed: true, parts: kept(exchange.body, observation) }
  return {
    status,
    headers,
    streamed: false,
    async whole() {
      const body = await exchange.whole(maxBodyBytes)
      observation?.tee.push(body)
      return body
    },
  }
}

async function* kept(body: AsyncIterable<Buffer>, observation: Observation | undefined): AsyncGenerator<Buffer> {
  for await (const part of body) {
    yield part
    observation?.tee.push(part)
  }
}

async function over(observation: Observation | undefined, exchange: Exchange | undefined): Promise<void> {
  await observation?.over(exchange && { status: exchange.status, headers: exchange.headers })
}
