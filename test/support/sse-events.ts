/** One dispatched server-sent event. */
export interface SseEvent {
  /** The `event` field; `message` when there was none. */
  readonly type: string
  readonly data: string
  /** The last event id at dispatch. */
  readonly id: string
}

/** What a strict reader makes of an event stream. */
export interface SseReading {
  readonly events: readonly SseEvent[]
  /** Comment lines without their colon. */
  readonly comments: readonly string[]
  /** The last valid `retry` field, in milliseconds. */
  readonly retry: number | undefined
  /** Lines with a field name that the standard does not know. */
  readonly unknown: readonly string[]
  /** True when the stream ended inside an event or a line, which a client throws away. */
  readonly unfinished: boolean
}

/**
 * Reads a whole event stream as the WHATWG HTML standard, section 9.2.6, says; written for assertions, apart from the
 * product's own reader. Throws when the bytes are not UTF-8.
 */
export function readSse(stream: Uint8Array | string): SseReading {
  const text =
    typeof stream === 'string' ? stream : new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(stream)
  const lines = text.replace(/^\uFEFF/, '').split(/\r\n|\r|\n/)
  const rest = lines.pop()
  const state = createState()
  for (const line of lines) state.line(line)
  return state.reading(rest !== '')
}

/** The dispatched events of a stream. */
export function sseEvents(stream: Uint8Array | string): readonly SseEvent[] {
  return readSse(stream).events
}

/** Every event's data as JSON, but for `[DONE]`; throws on data that is no JSON, as an SDK would. */
export function jsonEvents(stream: Uint8Array | string): readonly any[] {
  return sseEvents(stream).flatMap((event) => (event.data === '[DONE]' ? [] : [JSON.parse(event.data)]))
}

/** The content that the chat completion chunks of a stream add up to, for one choice. */
export function streamedText(stream: Uint8Array | string, choice = 0): string {
  return jsonEvents(stream)
    .flatMap((chunk) => chunk.choices ?? [])
    .filter((entry) => entry.index === choice)
    .map((entry) => entry.delta?.content ?? '')
    .join('')
}

function createState() {
  const events: SseEvent[] = []
  const comments: string[] = []
  const unknown: string[] = []
  let retry: number | undefined
  let lastId = ''
  let type = ''
  let lines: string[] = []
  let open = false
  const dispatch = () => {
    if (lines.length > 0) events.push({ type: type || 'message', data: lines.join('\n'), id: lastId })
    type = ''
    lines = []
    open = false
  }
  const field = (name: string, value: string, line: string) => {
    open = true
    if (name === 'event') type = value
    else if (name === 'data') lines.push(value)
    else if (name === 'id') lastId = value.includes('\0') ? lastId : value
    else if (name === 'retry') retry = /^[0-9]+$/.test(value) ? Number(value) : retry
    else unknown.push(line)
  }
  return {
    line(line: string) {
      if (line === '') return dispatch()
      const colon = line.indexOf(':')
      if (colon === 0) return void comments.push(line.slice(1))
      if (colon < 0) return field(line, '', line)
      field(line.slice(0, colon), line.slice(colon + 1).replace(/^ /, ''), line)
    },
    reading: (torn: boolean): SseReading => ({ events, comments, retry, unknown, unfinished: torn || open }),
  }
}
