import type { Body } from './engine.ts'
import { invalid, isObject } from './fields.ts'
import { refusal } from './refusal.ts'

/** A chat message whose content is plain text, as chat templates want it. Other members stay as they came. */
export interface Message {
  readonly role: string
  readonly content: string
  readonly [member: string]: unknown
}

const roles = new Set(['system', 'developer', 'user', 'assistant', 'tool', 'function'])

function textFromPart(part: unknown, path: string): string {
  if (!isObject(part)) throw invalid(path, 'must be an object')
  if (part['type'] !== 'text')
    throw refusal('unsupported_parameter', `${path}.type must be "text": this engine reads text only`, {
      param: `${path}.type`,
    })
  if (typeof part['text'] !== 'string') throw invalid(`${path}.text`, 'must be a string')
  return part['text']
}

function contentFrom(message: Body, path: string): string {
  const content = message['content']
  if (typeof content === 'string') return content
  if (Array.isArray(content))
    return content.map((part, index) => textFromPart(part, `${path}.content[${index}]`)).join('')
  const role = message['role']
  if ((content === undefined || content === null) && role === 'assistant') return ''
  throw invalid(`${path}.content`, 'must be a string or an array of text parts')
}

function messageFrom(value: unknown, path: string): Message {
  if (!isObject(value)) throw invalid(path, 'must be an object')
  const role = value['role']
  if (typeof role !== 'string' || !roles.has(role))
    throw invalid(`${path}.role`, `must be one of ${[...roles].join(', ')}`)
  // Templates of open models know "system" only; "developer" is its newer name.
  return { ...value, role: role === 'developer' ? 'system' : role, content: contentFrom(value, path) }
}

/** The messages of a chat body, checked, with text content. Throws a refusal that names the member at fault. */
export function messagesFrom(body: Body): readonly Message[] {
  const value = body['messages']
  if (value === undefined || value === null)
    throw refusal('missing_parameter', 'messages is missing', { param: 'messages' })
  if (!Array.isArray(value) || value.length === 0)
    throw invalid('messages', 'must be an array with at least one message')
  return value.map((message, index) => messageFrom(message, `messages[${index}]`))
}
