type Members = Record<string, unknown>

interface Event {
  readonly type?: string
  readonly index?: number
  readonly message?: Members
  readonly content_block?: Members
  readonly delta?: Members
  readonly usage?: Members
  readonly error?: unknown
}

/** The events of a message stream (Anthropic) as the message they add up to; an error in band is its member `error`. */
export function messageFromEvents(events: readonly unknown[]): Members {
  let message: Members = {}
  const blocks: Members[] = []
  for (const event of events as readonly (Event | null)[]) {
    const index = event?.index ?? 0
    switch (event?.type) {
      case 'message_start':
        message = { ...event.message }
        break
      case 'content_block_start':
        blocks[index] = { ...event.content_block }
        break
      case 'content_block_delta':
        blocks[index] = withDelta(blocks[index] ?? {}, event.delta ?? {})
        break
      case 'message_delta':
        message = { ...message, ...event.delta, usage: { ...(message['usage'] as Members), ...event.usage } }
        break
      case 'error':
        message = { ...message, error: event.error }
        break
    }
  }
  return { ...message, content: blocks.map(finished) }
}

function withDelta(block: Members, delta: Members): Members {
  const { type: _, ...adds } = delta
  const next = { ...block }
  for (const [key, value] of Object.entries(adds)) {
    const old = next[key]
    next[key] =
      typeof value === 'string' && (typeof old === 'string' || old === undefined) ? `${old ?? ''}${value}` : value
  }
  return next
}

/** The input of a tool call comes as fragments of JSON. */
function finished({ partial_json: text, ...block }: Members): Members {
  if (typeof text !== 'string') return block
  try {
    return { ...block, input: JSON.parse(text) }
  } catch {
    return { ...block, input: text }
  }
}
