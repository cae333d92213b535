import { type ChatRequest, type Message, textOfMessage } from './chat.ts'

/**
 * What of a prompt makes tokens, as amounts that a model's tokenizer weighs: kinds of text, messages, tools' calls, images. One slot
 * of a vector each.
 */
export const featureNames = [
  'letters', // of Latin words, up to 20 letters a word
  'words', // runs of Latin letters, parts of camelCase counted apart
  'dense', // Latin letters beyond those: hashes, base64, identifiers without end
  'digits',
  'marks', // ASCII punctuation, as in code
  'groups', // runs of it
  'gaps', // line ends and runs of more than one blank
  'cjk', // Han, kana, hangul, full-width forms
  'alphabets', // Cyrillic, Greek, Hebrew, Arabic, Armenian, Georgian
  'others', // every other character of the basic plane
  'astral', // halves of surrogate pairs: emoji and rare characters
  'messages',
  'calls', // tool calls in messages
  'images',
  'parts', // parts that are neither text nor images
  'base', // 1: what every prompt costs
] as const

/** Tokens for one of each feature before anything is learned: a middle course between the byte-level BPE vocabularies in use. */
export const priorWeights: readonly number[] = [
  0.03, 0.98, 1.2, 0.5, 0.15, 0.85, 0.3, 0.8, 0.38, 0.8, 1.2, 4, 8, 765, 300, 3,
]

type FeatureName = (typeof featureNames)[number]

/** Amounts by feature, in the order of {@link featureNames}. */
export type Features = Float64Array

const slot = Object.fromEntries(featureNames.map((name, index) => [name, index])) as Record<FeatureName, number>
const { letters, words, dense, digits, marks, groups, gaps, cjk, alphabets, others, astral, messages, calls } = slot

// Kinds of characters that are no feature of their own.
const capital = 100
const blank = 101
const newline = 102
const longestWord = 20

const kinds = kindsOfCharacters()

/** The kind of every UTF-16 code unit, so that counting is one look-up a character. */
function kindsOfCharacters(): Uint8Array {
  const table = new Uint8Array(65_536).fill(others)
  const put = (kind: number, ...ranges: readonly (readonly [number, number])[]): void => {
    for (const [from, to] of ranges) table.fill(kind, from, to + 1)
  }
  put(marks, [0x00, 0x7f])
  put(letters, [0x61, 0x7a], [0xc0, 0x24f], [0x1e00, 0x1eff])
  put(capital, [0x41, 0x5a])
  put(digits, [0x30, 0x39])
  put(blank, [0x09, 0x09], [0x20, 0x20], [0xa0, 0xa0])
  put(newline, [0x0a, 0x0d])
  put(alphabets, [0x370, 0x6ff], [0x10a0, 0x10ff], [0x1f00, 0x1fff])
  put(cjk, [0x1100, 0x11ff], [0x2e80, 0x9fff], [0xac00, 0xd7af], [0xf900, 0xfaff], [0xff00, 0xffef])
  put(astral, [0xd800, 0xdfff])
  return table
}

/** Adds what a text is made of. One pass; whatever stands in it, special tokens' names too, is text. */
export function addText(into: Features, text: string): void {
  let run = 0
  let previous = -1
  for (let i = 0; i < text.length; i++) {
    const kind = kinds[text.charCodeAt(i)] as number
    if (kind === letters || kind === capital) {
      const goesOn = previous === kind || (previous === capital && kind === letters)
      run = goesOn ? run + 1 : 1
      if (run === 1) into[words]!++
      into[run > longestWord ? dense : letters]!++
    } else if (kind === blank || kind === newline) {
      // A single blank belongs to the word after it; a longer run, or one with a line end, is counted once.
      if (previous === newline) continue
      if (kind === newline || previous === blank) {
        into[gaps]!++
        previous = newline
        continue
      }
    } else {
      if (kind === marks && previous !== marks) into[groups]!++
      into[kind]!++
    }
    previous = kind
  }
}

/** Texts up to this many characters are counted whole; of longer ones, one window in four. */
const wholeText = 1024
const windowChars = 256
const windowEvery = 4

/** Adds about what a text is made of. A long prompt is looked at in windows: what is between them is like what is in them. */
function addAbout(into: Features, text: string): void {
  if (text.length <= wholeText) {
    addText(into, text)
    return
  }
  const seen = new Float64Array(into.length)
  let looked = 0
  for (let from = 0; from < text.length; from += windowChars * windowEvery) {
    const window = text.slice(from, from + windowChars)
    looked += window.length
    addText(seen, window)
  }
  const scale = text.length / looked
  for (let i = 0; i < seen.length; i++) into[i]! += (seen[i] as number) * scale
}

/** What the prompt of a request is made of. */
export function featuresOfRequest(request: ChatRequest): Features {
  const into = new Float64Array(featureNames.length)
  into[slot.base] = 1
  for (const message of request.messages ?? []) addMessage(into, message)
  addPrompt(into, request.prompt)
  addPrompt(into, request.input)
  if (request.tools?.length) addText(into, JSON.stringify(request.tools))
  return into
}

function addMessage(into: Features, message: Message): void {
  into[messages]!++
  addAbout(into, textOfMessage(message))
  for (const call of message.tool_calls ?? []) {
    into[calls]!++
    addText(into, `${call.function?.name ?? ''} ${call.function?.arguments ?? ''}`)
  }
  if (!Array.isArray(message.content)) return
  for (const part of message.content) {
    if (part.type === 'image_url' || part.type === 'image' || part.type === 'input_image')
      into[slot.images]! += sizeOf(part)
    else if (typeof part.text !== 'string') into[slot.parts]!++
  }
}

/** OpenAI counts an image of low detail as 85 tokens, a ninth of the usual one. */
function sizeOf(part: Readonly<Record<string, unknown>>): number {
  const image = part['image_url'] as { detail?: unknown } | null | undefined
  return (part['detail'] ?? image?.detail) === 'low' ? 85 / 765 : 1
}

/** `prompt` or `input`: a text, texts, token ids, or lists of token ids. Ids are tokens already, so they go where the weight is known. */
function addPrompt(into: Features, prompt: unknown): void {
  if (typeof prompt === 'string') addAbout(into, prompt)
  else if (Array.isArray(prompt)) for (const each of prompt) if (typeof each !== 'number') addPrompt(into, each)
}

/** How many token ids stand in `prompt` and `input`: those need no estimate. */
export function idsOfRequest(request: ChatRequest): number {
  return idsIn(request.prompt) + idsIn(request.input)
}

function idsIn(prompt: unknown): number {
  if (!Array.isArray(prompt)) return 0
  return prompt.reduce<number>((sum, each) => sum + (typeof each === 'number' ? 1 : idsIn(each)), 0)
}

/** How many answers are generated: choices (`n`, or `best_of` where that is more) for each prompt of a batch. */
export function answersOf(request: ChatRequest): number {
  const choices = Math.max(request.n ?? 1, typeof request['best_of'] === 'number' ? request['best_of'] : 1)
  const { prompt } = request
  const batch = Array.isArray(prompt) && typeof prompt[0] !== 'number' ? Math.max(1, prompt.length) : 1
  return choices * batch
}
