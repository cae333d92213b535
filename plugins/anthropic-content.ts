import { fieldFault, type MessagesBlock, type MessagesTurn } from './anthropic-request.ts'
import type { ContentPart, Message, ToolCall } from './chat.ts'

/**
 * One turn as chat messages: tool results become `tool` messages, which stand before whatever else the turn holds. `path` names the
 * turn in faults, such as `messages.0`.
 */
export function chatFromTurn(turn: MessagesTurn, path: string): readonly Message[] {
  const { role, content } = turn
  if (typeof content === 'string') return [{ role, content }]
  if (role === 'assistant') return [chatFromAssistant(content, `${path}.content`)]
  if (role === 'system') return [{ role, content: textOfBlocks(content, `${path}.content`) }]
  return chatFromUser(content, `${path}.content`)
}

/** The text of blocks that must all be text (a system prompt), with an empty line between. */
export function textOfBlocks(blocks: readonly MessagesBlock[], path: string): string {
  return blocks.map((block, index) => textOfBlock(block, `${path}.${index}`)).join('\n\n')
}

function textOfBlock(block: MessagesBlock, path: string): string {
  if (block.type !== 'text') throw wrongType(path, ['text'])
  return stringAt(block, 'text', path)
}

function chatFromUser(blocks: readonly MessagesBlock[], path: string): readonly Message[] {
  const results: Message[] = []
  const parts: ContentPart[] = []
  for (const [index, block] of blocks.entries()) {
    const at = `${path}.${index}`
    if (block.type !== 'tool_result') parts.push(partFromBlock(block, at))
    else results.push(chatFromToolResult(block, at, parts))
  }
  if (parts.length === 0 && results.length > 0) return results
  return [...results, { role: 'user', content: contentFromParts(parts) }]
}

function contentFromParts(parts: readonly ContentPart[]): string | readonly ContentPart[] {
  const [only] = parts
  if (!only) return ''
  return parts.length === 1 && typeof only.text === 'string' ? only.text : parts
}

/** A `tool` message holds text only, so pictures and files of a result go on in the user message that follows (`others`). */
function chatFromToolResult(block: MessagesBlock, path: string, others: ContentPart[]): Message {
  const { content, is_error: failed } = block
  const texts: string[] = []
  if (typeof content === 'string') texts.push(content)
  else if (Array.isArray(content)) {
    for (const [index, each] of content.entries()) {
      const part = partFromBlock(blockAt(each, `${path}.content.${index}`), `${path}.content.${index}`)
      if (typeof part.text === 'string') texts.push(part.text)
      else others.push(part)
    }
  } else if (content !== undefined && content !== null) {
    throw fieldFault(`${path}.content`, 'must be a string or an array of blocks')
  }
  const text = texts.join('\n')
  // Chat has no flag for a failed tool, and the model must know.
  return {
    role: 'tool',
    tool_call_id: stringAt(block, 'tool_use_id', path),
    content: failed === true ? `Error: ${text}` : text,
  }
}

function chatFromAssistant(blocks: readonly MessagesBlock[], path: string): Message {
  let text = ''
  let reasoning = ''
  const calls: ToolCall[] = []
  for (const [index, block] of blocks.entries()) {
    const at = `${path}.${index}`
    if (block.type === 'text') text += stringAt(block, 'text', at)
    else if (block.type === 'tool_use') calls.push(callFromBlock(block, at))
    else if (block.type === 'thinking') reasoning += stringAt(block, 'thinking', at)
    else if (block.type !== 'redacted_thinking') {
      throw wrongType(at, ['text', 'tool_use', 'thinking', 'redacted_thinking'])
    }
  }
  if (calls.length === 0) return { role: 'assistant', content: text }
  // Within a tool loop models go on from what they thought; after it their templates drop it, and some servers refuse it.
  const thought = reasoning ? { reasoning_content: reasoning } : {}
  return { role: 'assistant', content: text || null, ...thought, tool_calls: calls }
}

function callFromBlock(block: MessagesBlock, path: string): ToolCall {
  const { input } = block
  if (input === null || typeof input !== 'object' || Array.isArray(input)) {
    throw fieldFault(`${path}.input`, 'must be an object')
  }
  const name = stringAt(block, 'name', path)
  return { id: stringAt(block, 'id', path), type: 'function', function: { name, arguments: JSON.stringify(input) } }
}

function partFromBlock(block: MessagesBlock, path: string): ContentPart {
  switch (block.type) {
    case 'text':
      return { type: 'text', text: stringAt(block, 'text', path) }
    case 'image':
      return { type: 'image_url', image_url: { url: imageUrl(sourceOf(block, path), `${path}.source`) } }
    case 'document':
      return partFromDocument(block, path)
    default:
      throw wrongType(path, ['text', 'image', 'document', 'tool_result'])
  }
}

function imageUrl(source: MessagesBlock, path: string): string {
  if (source.type === 'url') return stringAt(source, 'url', path)
  if (source.type !== 'base64') throw wrongType(path, ['base64', 'url'])
  return dataUrl(source, path)
}

function partFromDocument(block: MessagesBlock, path: string): ContentPart {
  const at = `${path}.source`
  const source = sourceOf(block, path)
  const title = typeof block['title'] === 'string' && block['title'] ? block['title'] : undefined
  if (source.type === 'text') {
    const text = stringAt(source, 'data', at)
    return { type: 'text', text: title ? `${title}\n\n${text}` : text }
  }
  if (source.type !== 'base64') throw wrongType(at, ['base64', 'text'])
  return { type: 'file', file: { filename: title ?? 'document.pdf', file_data: dataUrl(source, at) } }
}

function dataUrl(source: MessagesBlock, path: string): string {
  return `data:${stringAt(source, 'media_type', path)};base64,${stringAt(source, 'data', path)}`
}

function sourceOf(block: MessagesBlock, path: string): MessagesBlock {
  return blockAt(block['source'], `${path}.source`)
}

function blockAt(value: unknown, path: string): MessagesBlock {
  if (value === null || typeof value !== 'object') throw fieldFault(path, 'must be an object')
  const block = value as MessagesBlock
  stringAt(block, 'type', path)
  return block
}

function stringAt(block: MessagesBlock, member: string, path: string): string {
  const value = block[member]
  if (typeof value === 'string') return value
  throw fieldFault(`${path}.${member}`, value === undefined ? 'is required' : 'must be a string')
}

function wrongType(path: string, known: readonly string[]) {
  return fieldFault(`${path}.type`, `must be one of ${known.map((name) => `"${name}"`).join(', ')}`)
}
