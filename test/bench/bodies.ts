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

/** A chat request of exactly `bytes` bytes with a {@link counterMark} in it. */
export function requestBody(bytes: number, stream = false): string {
  const make = (text: string): string =>
    JSON.stringify({
      model: 'bench',
      messages: [
        { role: 'system', content: 'You answer in plain words.' },
        { role: 'user', content: `Case ${counterMark}: ${text}` },
      ],
      max_tokens: 512,
      ...(stream ? { stream: true } : {}),
    })
  return make(prose(bytes - make('').length))
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

/** The present instant of the monotonic clock, which all processes share, as a word that no rule takes for personal data. */
export function stampNow(): string {
  const digits = process.hrtime.bigint().toString(16).padStart(14, '0')
  return `q${[...digits].map((digit) => letters[Number.parseInt(digit, 16)]).join('')}q`
}

/** Finds stamps in what arrived. */
export const stampPattern: RegExp = /q([a-p]{14})q/g

/** The instant that a stamp says, in milliseconds of the monotonic clock. */
export function instantOfStamp(word: string): number {
  const hex = [...word].map((letter) => letters.indexOf(letter).toString(16)).join('')
  return Number(BigInt(`0x${hex}`)) / 1e6
}

/** The present instant of the same clock, in milliseconds. */
export function instantNow(): number {
  return Number(process.hrtime.bigint()) / 1e6
}
