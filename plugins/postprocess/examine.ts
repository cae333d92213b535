import { textOfMessage } from '../chat.ts'
import type { CompletionChoice } from '../chunks.ts'
import { type Annotation, type Cleaning, cleanText, createLane, finderFor } from './cleaning.ts'
import { type CompiledRules, comparable } from './compile.ts'
import { repairedJson } from './json-repair.ts'
import { cleanJson, parsedJson, withoutFence } from './json-text.ts'
import type { JsonDemand } from './rule.ts'

/** What is asked of a whole answer. */
export interface Examination {
  readonly compiled: CompiledRules
  readonly demand: JsonDemand | undefined
  /** How its text is cleaned; undefined when nothing is to be cleaned. */
  readonly cleaning: Cleaning | undefined
  /** Gets what is only noted. */
  readonly notes: Annotation[]
  /** Hears of a repair. */
  repaired(): void
}

/** What has been found out about one choice of it. */
export interface Examined {
  readonly choice: CompletionChoice
  /** What rule it breaks, in words, without any of its text. */
  readonly faults: readonly string[]
}

/** The text of a choice, or undefined when it is a tool call or a refusal, which no rule about text applies to. */
export function textOfChoice({ message, text }: CompletionChoice): string | undefined {
  if (message === undefined) return text
  if (typeof message['refusal'] === 'string' && message['refusal'] !== '') return undefined
  const said = textOfMessage(message)
  if (said !== '') return said
  return (message.tool_calls?.length ?? 0) > 0 || message['function_call'] ? undefined : ''
}

/** A choice that says another text. */
export function withText(choice: CompletionChoice, text: string): CompletionChoice {
  if (choice.message === undefined) return { ...choice, text }
  return { ...choice, message: { ...choice.message, content: text } }
}

/**
 * The first half of the rules on one choice of a whole answer, in their order: tags, JSON, required phrases. JSON is cleaned here, value by
 * value; other text is left for the cleaner. Throws `output_invalid` for what is blocked.
 */
export function examineChoice(choice: CompletionChoice, examination: Examination): Examined {
  const said = textOfChoice(choice)
  if (said === undefined) return { choice, faults: [] }
  const { cleaning, demand } = examination
  const tags = cleaning?.tags ? createLane({ watches: [], nfkc: false }, () => {}, cleaning.tags) : undefined
  const bare = tags ? tags.push(said) + tags.end() : said
  const { text, faults } = demand ? examineJson(bare, choice.index, examination) : { text: bare, faults: [] }
  const missing = missingPhrases(examination.compiled, text)
  return { choice: text === said ? choice : withText(choice, text), faults: [...faults, ...missing] }
}

function missingPhrases({ rules }: CompiledRules, text: string): string[] {
  if (rules.required_phrases.length === 0) return []
  const shown = comparable(rules, text)
  return rules.required_phrases.flatMap((phrase, i) =>
    shown.includes(comparable(rules, phrase)) ? [] : [`required_phrases[${i}] is missing`],
  )
}

interface Read {
  readonly text: string
  readonly value: unknown
  readonly faults: readonly string[]
}

function readJson(text: string, demand: JsonDemand): Read {
  const value = parsedJson(text)
  if (value === undefined) return { text, value, faults: ['it is not valid JSON'] }
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  if (demand.object && !isObject) return { text, value, faults: ['it is not a JSON object'] }
  const faults = demand.schemas.flatMap((schema) => schema.faults(value))
  return { text, value, faults: faults.map(({ path, message }) => (path ? `${path} ${message}` : `it ${message}`)) }
}

function examineJson(
  said: string,
  index: number,
  examination: Examination,
): { text: string; faults: readonly string[] } {
  const { compiled, cleaning, notes, repaired } = examination
  const demand = examination.demand as JsonDemand
  const bare = withoutFence(said)
  // The suffix has its place before the schema is asked, since the schema may require it.
  const read = (text: string): Read => readJson(suffixed(text, compiled), demand)
  let found = read(bare)
  if (found.faults.length > 0 && compiled.rules.onInvalid !== 'refuse') {
    const better = repairedJson(said)
    const again = better === undefined || better === bare ? undefined : read(better)
    if (again && again.faults.length === 0) {
      repaired()
      found = again
    }
  }
  if (found.faults.length > 0 || !cleaning) return found
  const onFind = finderFor(cleaning, index, notes)
  const cleaned = cleanJson(found.value, (text) => cleanText(cleaning.plan, text, onFind))
  return cleaned === found.value ? found : readJson(JSON.stringify(cleaned), demand)
}

/** A JSON object with the mandatory suffix in its field; any other text as it is. */
function suffixed(text: string, { suffix }: CompiledRules): string {
  if (!suffix || suffix.field === null) return text
  const value = parsedJson(text)
  if (value === undefined || value === null || typeof value !== 'object' || Array.isArray(value)) return text
  const said = Object.hasOwn(value, suffix.field) ? (value as Record<string, unknown>)[suffix.field] : undefined
  if (typeof said === 'string' && said.endsWith(suffix.text)) return text
  return JSON.stringify({ ...value, [suffix.field]: typeof said === 'string' ? said + suffix.text : suffix.text })
}
