import type { Body, Delta, Piece, Usage } from '../engine.ts'
import { isObject } from '../fields.ts'
import { type Refusal, refusal } from '../refusal.ts'

/** The refusal for an error object that the upstream sent inside a 200. */
function refusalFromError(error: unknown): Refusal {
  const passed = isObject(error) ? error : { message: String(error) }
  const message = typeof passed['message'] === 'string' ? passed['message'] : 'the upstream failed while answering'
  return refusal('upstream_failed', message, {
    passed: { type: 'upstream_error', param: null, code: null, ...passed, message },
  })
}

function deltaFromChoice(choice: Body): Delta {
  if (typeof choice['text'] === 'string') return { content: choice['text'] }
  const given = isObject(choice['delta']) ? choice['delta'] : isObject(choice['message']) ? choice['message'] : {}
  // We open each choice with its role ourselves.
  const { role: _, ...delta } = given
  return Object.fromEntries(Object.entries(delta).filter(([, value]) => value !== null && value !== ''))
}

function piecesFromChoice(choice: Body): Piece[] {
  const index = typeof choice['index'] === 'number' ? choice['index'] : 0
  const reason = choice['finish_reason']
  const delta = deltaFromChoice(choice)
  const logprobs = choice['logprobs'] ?? undefined
  const said: Piece = { kind: 'delta', index, delta, tokens: 1, ...(logprobs === undefined ? {} : { logprobs }) }
  const finish: Piece[] = typeof reason === 'string' ? [{ kind: 'finish', index, reason }] : []
  const opens = isObject(choice['delta']) && 'role' in choice['delta']
  return Object.keys(delta).length > 0 || logprobs !== undefined || opens ? [said, ...finish] : finish
}

/** What one chunk, or one whole body, of an OpenAI-compatible server says. Throws `upstream_failed` for an error object. */
export function piecesFromBody(body: unknown): { pieces: Piece[]; usage: Usage | undefined } {
  if (!isObject(body)) throw refusal('upstream_failed', 'the upstream sent something that is no JSON object')
  if (body['error'] !== undefined && body['error'] !== null) throw refusalFromError(body['error'])
  const choices = Array.isArray(body['choices']) ? body['choices'].filter(isObject) : []
  const usage = isObject(body['usage']) ? (body['usage'] as Usage) : undefined
  return { pieces: choices.flatMap(piecesFromChoice), usage }
}

function parsed(data: string): unknown {
  try {
    return JSON.parse(data)
  } catch (cause) {
    throw refusal('upstream_failed', 'the upstream sent an event that is not JSON', { cause })
  }
}

/**
 * The pieces of an upstream's event stream, its usage last. Throws `upstream_failed` when it ends before every choice
 * that it began has finished: an early end is never made to look like a complete answer.
 */
export async function* piecesFromEvents(events: AsyncIterable<string>): AsyncGenerator<Piece> {
  const open = new Set<number>()
  let began = false
  let usage: Usage | undefined
  for await (const data of events) {
    if (data.trim() === '[DONE]') break
    const found = piecesFromBody(parsed(data))
    usage = found.usage ?? usage
    for (const piece of found.pieces) {
      began = true
      if (piece.kind === 'delta') open.add(piece.index)
      if (piece.kind === 'finish') open.delete(piece.index)
      yield piece
    }
  }
  if (!began || open.size > 0) throw refusal('upstream_failed', 'the upstream ended before its answer did')
  if (usage) yield { kind: 'usage', usage }
}

/** The refusal for a status that is not 200. The caller's own faults keep their status; our key's or the server's become 502. */
export function refusalFromStatus(status: number, text: string, retryAfter: string | undefined): Refusal {
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {
    body = undefined
  }
  const error = isObject(body) && isObject(body['error']) ? body['error'] : isObject(body) ? body : {}
  const message = typeof error['message'] === 'string' ? error['message'] : `the upstream answered ${status}`
  const seconds = Number(retryAfter)
  const again = retryAfter && Number.isFinite(seconds) ? { retryAfterSeconds: Math.ceil(seconds) } : {}
  if (status === 401 || status === 403)
    return refusal('upstream_refused', "the upstream does not take this runner's key")
  if (status >= 400 && status < 500) {
    const param = typeof error['param'] === 'string' ? error['param'] : null
    const passed = { type: error['type'] ?? 'invalid_request_error', code: error['code'] ?? null, param, message }
    return refusal('upstream_refused', message, { status, passed, ...again })
  }
  return refusal('upstream_failed', message, { ...again, ...(status === 503 || status === 504 ? { status } : {}) })
}
