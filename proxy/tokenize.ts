import type { Call } from '../plugins/call.ts'
import { wholeBody } from '../plugins/reply-bytes.ts'
import { send } from './exchange.ts'
import type { Line } from './line.ts'

// Runners that answered once that they have no `/tokenize`: they are not asked again.
const cannot = new WeakSet<Line>()

/** Asks the first runner that can for the prompt tokens of a call (`POST /tokenize`, as vLLM and our runner have it). */
export async function tokenizeOnce(
  lines: readonly Line[],
  call: Call,
  signal: AbortSignal,
): Promise<number | undefined> {
  const line = lines.find((each) => !cannot.has(each))
  if (!line) return undefined
  const { model, messages, prompt } = call.request
  const exchange = await send(line.pool, {
    method: 'POST',
    path: `${line.base}/tokenize`,
    headers: [...line.headers, 'content-type', 'application/json'],
    body: Buffer.from(JSON.stringify(messages ? { model, messages } : { model, prompt })),
    signal,
  })
  const body = await wholeBody(exchange.body, 4 * 1024 * 1024)
  if (exchange.status === 404 || exchange.status === 405) cannot.add(line)
  if (exchange.status !== 200) return undefined
  return countFromBody(body)
}

function countFromBody(body: Buffer): number | undefined {
  try {
    const { count } = JSON.parse(body.toString('utf8')) as { count?: unknown }
    return typeof count === 'number' && Number.isSafeInteger(count) && count >= 0 ? count : undefined
  } catch {
    return undefined
  }
}
