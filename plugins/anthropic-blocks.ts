import { argumentsOf, toolUseId } from './anthropic-message.ts'
import type { ToolCall } from './chat.ts'
import { textFromEvent } from './sse.ts'

/** Writes the content blocks of a message stream: one after another, as Anthropic does, whatever the order the parts come in. */
export interface BlockWriter {
  /** True once a tool call has begun. */
  readonly calls: boolean
  /** Each gives the events that can be said now; empty when none. */
  text(text: string): string
  thinking(text: string): string
  /** A part of a tool call (OpenAI chat chunks); `place` is where in its chunk it stood, for servers that give no index. */
  call(part: ToolCall, place: number): string
  /** What was held back, and the end of the last block. */
  close(): string
}

type Kind = 'text' | 'thinking' | 'call'

interface Block {
  readonly kind: Kind
  /** What has not been said yet. */
  held: string
  begun: boolean
  /** Tool calls only. */
  slot: number
  id: string
  name: string
  readonly json: JsonProgress
}

/** Makes a {@link BlockWriter}. */
export function createBlockWriter(): BlockWriter {
  const blocks: Block[] = []
  const state = { head: 0, calls: false }
  const add = (kind: Kind, text: string): string => {
    let last = blocks.at(-1)
    if (last?.kind !== kind) {
      last = newBlock(kind)
      blocks.push(last)
    }
    last.held += text
    return drain(blocks, state, false)
  }
  return {
    get calls() {
      return state.calls
    },
    text: (text) => (text ? add('text', text) : ''),
    thinking: (text) => (text ? add('thinking', text) : ''),
    call(part, place) {
      state.calls = true
      addCall(blocks, part, part.index ?? place)
      return drain(blocks, state, false)
    },
    close() {
      if (blocks.length === 0) blocks.push(newBlock('text'))
      return drain(blocks, state, true)
    },
  }
}

function newBlock(kind: Kind, slot = -1): Block {
  return {
    kind,
    held: '',
    begun: false,
    slot,
    id: '',
    name: '',
    json: { depth: 0, quoted: false, escaped: false, done: false },
  }
}

/** Parts belong together by index; a new id at an index that has one already starts another call. */
function addCall(blocks: Block[], part: ToolCall, slot: number): void {
  let block = blocks.findLast((each) => each.slot === slot)
  if (!block || (part.id && block.id && block.id !== part.id)) {
    block = newBlock('call', slot)
    blocks.push(block)
  }
  block.id ||= part.id ?? ''
  block.name ||= part.function?.name ?? ''
  const text = argumentsOf(part)
  // Behind the end of its JSON nothing can follow but white space, and the block may be closed already.
  if (block.json.done) return
  block.held += text
  follow(block.json, text)
}

/** Says all that can be said: the first unfinished block as it comes, a later one once those before it are whole. */
function drain(blocks: readonly Block[], state: { head: number }, closing: boolean): string {
  let out = ''
  for (let block = blocks[state.head]; block; block = blocks[state.head]) {
    if (!block.begun && block.kind === 'call' && !block.name && !closing) break
    if (!block.begun) out += started(block, state.head)
    if (block.held) out += delta(block, state.head)
    const last = state.head === blocks.length - 1
    const whole = block.kind !== 'call' || block.json.done
    if (!closing && (last || !whole)) break
    out += textFromEvent({ event: 'content_block_stop', data: `{"type":"content_block_stop","index":${state.head}}` })
    state.head++
  }
  return out
}

function started(block: Block, index: number): string {
  block.begun = true
  const content = JSON.stringify(emptyContent(block))
  const content_block = `{"type":"content_block_start","index":${index},"content_block":${content}}`
  return textFromEvent({ event: 'content_block_start', data: content_block })
}

function emptyContent(block: Block) {
  switch (block.kind) {
    case 'text':
      return { type: 'text', text: '', citations: null }
    case 'thinking':
      return { type: 'thinking', thinking: '', signature: '' }
    case 'call':
      return { type: 'tool_use', id: block.id || toolUseId(), name: block.name, input: {} }
  }
}

const deltas = {
  text: '"delta":{"type":"text_delta","text":',
  thinking: '"delta":{"type":"thinking_delta","thinking":',
  call: '"delta":{"type":"input_json_delta","partial_json":',
} as const

function delta(block: Block, index: number): string {
  const text = JSON.stringify(block.held)
  block.held = ''
  const data = `{"type":"content_block_delta","index":${index},${deltas[block.kind]}${text}}}`
  return textFromEvent({ event: 'content_block_delta', data })
}

/** How far a JSON object has come: read once, character by character, so that its end is known without parsing it again. */
interface JsonProgress {
  depth: number
  quoted: boolean
  escaped: boolean
  done: boolean
}

function follow(json: JsonProgress, text: string): void {
  for (let i = 0; i < text.length && !json.done; i++) {
    const char = text[i]
    if (json.escaped) json.escaped = false
    else if (json.quoted) {
      if (char === '\\') json.escaped = true
      else if (char === '"') json.quoted = false
    } else if (char === '"') json.quoted = true
    else if (char === '{' || char === '[') json.depth++
    else if (char === '}' || char === ']') json.done = --json.depth <= 0
  }
}
