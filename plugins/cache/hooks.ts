import { RE2JS } from 're2js'

/** Changes a text before it goes into the key. Never changes what the model is asked. */
export type Hook = (text: string) => string

/** One rule of an operator's hook: a pattern (RE2 syntax, linear time) and what stands in its place (`$1`, `$&` as in JavaScript). */
export interface Replacement {
  readonly pattern: string
  readonly replacement: string
  readonly ignoreCase?: boolean
}

/** The hooks every installation has, by name. */
export const builtInHooks: Readonly<Record<string, Hook>> = {
  normalize_numbers: (text) => text.replace(numberRun, plainNumber),
  normalize_whitespace: (text) => text.replace(/\s+/g, ' ').trim(),
  strip_trailing_punctuation: withoutTrailingPunctuation,
}

/** An operator's hook: its rules one after another. Throws the engine's error for a pattern that is not RE2. */
export function hookFromReplacements(rules: readonly Replacement[]): Hook {
  const steps = rules.map(({ pattern, replacement, ignoreCase }) => {
    const compiled = RE2JS.compile(pattern, ignoreCase ? RE2JS.CASE_INSENSITIVE : 0)
    return (text: string): string => compiled.matcher(text).replaceAll(replacement)
  })
  return (text) => steps.reduce((so, step) => step(so), text)
}

const numberRun = /[0-9０-９][0-9０-９,.]*/g
const grouped = /^\d{1,3}(?:,\d{3})+(?:\.\d+)?$/
const plain = /^\d+(?:\.\d+)?$/

/** A number without thousands separators, full-width digits and closing zeros. Versions, dates and names stay as they are. */
function plainNumber(run: string, at: number, text: string): string {
  let end = run.length
  while (run[end - 1] === '.' || run[end - 1] === ',') end--
  if (isNamePart(text[at - 1]) || isNamePart(text[at + run.length])) return run
  const number = run.slice(0, end).replace(/[０-９]/g, asciiDigit)
  if (!plain.test(number) && !grouped.test(number)) return run
  const digits = number.replaceAll(',', '')
  return (digits.includes('.') ? withoutClosingZeros(digits) : digits) + run.slice(end)
}

function isNamePart(character: string | undefined): boolean {
  return character !== undefined && /[A-Za-z_]/.test(character)
}

function asciiDigit(digit: string): string {
  return String.fromCharCode(digit.charCodeAt(0) - 0xfee0)
}

function withoutClosingZeros(number: string): string {
  let end = number.length
  while (number[end - 1] === '0') end--
  return number.slice(0, number[end - 1] === '.' ? end - 1 : end)
}

const sentenceMarks = new Set('.,;:!?…。，；：！？、．')

function withoutTrailingPunctuation(text: string): string {
  let end = text.length
  while (end > 0 && (sentenceMarks.has(text[end - 1] as string) || /\s/.test(text[end - 1] as string))) end--
  return text.slice(0, end)
}
