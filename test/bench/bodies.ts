/** Where a request body holds a number of its own, so that no two are equal: twelve digits take its place. */
export const counterMark = '@@@@@@@@@@@@'

const words =
  'the river carries small boats past quiet gardens and old stone walls while people on both banks talk about weather markets music and the long way home'.split(
    ' ',
  )

/** So many characters of plain English, the same every time. */
export function prose(length: number): string {
  let text = ''
  for (let i = 0; text.length < length; i++)
    text += `${words[(i * 7 + (i >> 3)) % words.length]}${i % 13 === 12 ? '. ' : ' '}`
  return text.slice(0, length)
}

/** What a request body may be beside long. */
export interface BodyShape {
  readonly stream?: boolean
  /** Messages beside the one of the system, users and assistants in turn; default 1. */
  readonly messages?: number
}

/** A chat request of exactly `bytes` bytes with a {@link counterMark} in its last message. Throws a `RangeError` where that is too short. */
export function requestBody(bytes: number, { stream = false, messages = 1 }: BodyShape = {}): string {
  const make = (length: number): string =>
    JSON.stringify({
      model: 'bench',
      messages: [
        { role: 'system', content: 'You answer in plain words.' },
        ...Array.from({ length: messages - 1 }, (_, turn) => ({
          role: turn % 2 === messages % 2 ? 'assistant' : 'user',
          content: prose(Math.floor(length / messages)),
        })),
        {
          role: 'user',
          content: `Case ${counterMark}: ${prose(length - (messages - 1) * Math.floor(length / messages))}`,
        },
      ],
      max_tokens: 512,
      ...(stream ? { stream: true } : {}),
    })
  return make(bytes - make(0).length)
}

/** A whole chat answer of exactly `bytes` bytes. */
export function answerBody(bytes: number): string {
  const make = (text: string): string =>
    JSON.stringify({
      id: 'chatcmpl-bench',
      object: 'chat.completion',
      created: 1_700_000_000,
      model: 'bench',
      choices: [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' }],
      usage,
    })
  return make(prose(bytes - make('').length))
}

const usage = { prompt_tokens: 1024, completion_tokens: 256, total_tokens: 1280 }

/** One event of a stream that says this. */
export function eventOf(content: string, finish: 'stop' | null = null): string {
  return eventText([{ index: 0, delta: content ? { content } : {}, finish_reason: finish }])
}

/** The event that begins a stream. */
export const roleEvent: string = eventText([
  { index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null },
])

/** The event that reports usage, and the end mark. */
export const usageEvent: string = eventText([], usage)
/** The end mark of a stream. */
export const endEvent = 'data: [DONE]\n\n'

function eventText(choices: readonly unknown[], used?: typeof usage): string {
  const head = { id: 'chatcmpl-bench', object: 'chat.completion.chunk', created: 1_700_000_000, model: 'bench' }
  return `data: ${JSON.stringify({ ...head, choices, ...(used ? { usage: used } : {}) })}\n\n`
}

/** A part of a body as a frame of chunked transfer (RFC 9112 §7.1). */
export function frameOf(text: string): Buffer {
  return Buffer.from(`${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`)
}

const letters = 'abcdefghijklmnop'
const stampLength = 14
const stampHead = Buffer.from('"content":"q')

/** The present instant of the monotonic clock, which all processes share, in milliseconds. */
export function instantNow(): number {
  const [seconds, nanoseconds] = process.hrtime()
  return seconds * 1e3 + nanoseconds / 1e6
}

/** An event that bears the present instant, as a word that no rule takes for personal data, framed. */
export function stampedFrame(): Buffer {
  let micros = Math.round(instantNow() * 1000)
  for (let at = stampAt + stampLength - 1; at >= stampAt; at--) {
    stampTemplate[at] = letters.charCodeAt(micros % 16)
    micros = Math.floor(micros / 16)
  }
  return Buffer.from(stampTemplate)
}

const stampTemplate = frameOf(eventOf(`q${'a'.repeat(stampLength)} `))
const stampAt = stampTemplate.indexOf(stampHead) + stampHead.length

/** Calls `found` with the instant of every stamped event in the bytes. */
export function stampsIn(bytes: Buffer, found: (instant: number) => void): void {
  for (let at = bytes.indexOf(stampHead); at !== -1; at = bytes.indexOf(stampHead, at + 1)) {
    let micros = 0
    for (let i = at + stampHead.length; i < at + stampHead.length + stampLength; i++) {
      micros = micros * 16 + (bytes[i] ?? 97) - 97
    }
    found(micros / 1000)
  }
}
