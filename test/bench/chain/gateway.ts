import { randomUUID } from 'node:crypto'
import { type ChainRequest, errorAnswer, type Heard, type Service } from './exchange.ts'
import { placesOfProcess } from './places.ts'
import { runService } from './service.ts'

const paths = new Set(['/v1/chat/completions'])
const mostBytes = 1024 * 1024

/** The first service of the chain: which paths there are, how large a body may be, whether it is a request at all, and its id. */
const gateway: Service<string> = {
  request(heard) {
    if (!paths.has(heard.path)) return errorAnswer(404, 'there is no such path')
    if (heard.bytes > mostBytes) return errorAnswer(413, 'the body is too large')
    const fault = faultOf(heard)
    if (fault) return errorAnswer(400, fault)
    const id = heard.headers['x-request-id'] ?? randomUUID()
    return { kind: 'pass', kept: id, headers: { ...heard.headers, 'x-request-id': id } }
  },
  answer: (_, id) => ({ headers: { 'x-request-id': id } }),
}

function faultOf(heard: Heard): string | undefined {
  const body = bodyOf(heard)
  if (typeof body?.model !== 'string') return 'model must be a string'
  if (!Array.isArray(body.messages) || body.messages.length === 0) return 'messages must be a list that is not empty'
  if (!body.messages.every(({ role, content }) => typeof role === 'string' && typeof content === 'string'))
    return 'each message must have a role and a content'
  return body.stream === true ? 'this chain does not stream' : undefined
}

function bodyOf(heard: Heard): ChainRequest | undefined {
  try {
    return heard.body
  } catch {
    return undefined
  }
}

runService(gateway, placesOfProcess())
