import { decimalFromValue, isInt64, roundedDecimal, textFromDecimal } from './decimal.ts'

/**
 * How closely two values of a hash field must agree to share an answer: `int64`, `float64`, `decimal:N`, `string`, `string_trim`,
 * `string_nfc` or `string_fold`.
 */
export type Precision = string

/** What {@link Precision} must match: at most 20 places. */
export const precisionPattern = '^(int64|float64|decimal:(\\d|1\\d|20)|string|string_trim|string_nfc|string_fold)$'

/** A value as it stands in the key: a number under a numeric precision (`n`), everything else as a value (`v`). */
export type Precise = { readonly n: number | string } | { readonly v: unknown }

/**
 * A hash field's value under its precision; without one, as it is. What a numeric precision cannot read as such a number stays as it
 * is, so that nothing is merged that is not equal.
 */
export function preciseValue(value: unknown, precision: Precision | undefined): Precise {
  if (precision === undefined) return { v: value }
  if (precision.startsWith('string')) return { v: eachText(textOf(value), textKinds[precision] ?? same) }
  const decimal = decimalFromValue(value)
  if (!decimal) return { v: value }
  if (precision === 'int64') return isInt64(decimal) ? { n: textFromDecimal(decimal) } : { v: value }
  if (precision.startsWith('decimal:'))
    return { n: textFromDecimal(roundedDecimal(decimal, Number(precision.slice(8)))) }
  const double = Number(textFromDecimal(decimal))
  return Number.isFinite(double) ? { n: double } : { v: value }
}

const same = (text: string): string => text

const textKinds: Readonly<Record<string, (text: string) => string>> = {
  string: same,
  string_trim: (text) => text.trim(),
  string_nfc: (text) => text.normalize('NFC'),
  string_fold: (text) => text.normalize('NFC').toLowerCase().replaceAll('ς', 'σ').replaceAll('ß', 'ss'),
}

/** A number or a truth value as its text: under a string precision `5` and `"5"` are the same. */
function textOf(value: unknown): unknown {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  const decimal = typeof value === 'object' ? decimalFromValue(value) : undefined
  return decimal ? textFromDecimal(decimal) : value
}

/** A value with its text changed: a string, or the `text` of each content part. Everything else stays as it is. */
export function eachText(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === 'string') return change(value)
  if (!Array.isArray(value)) return value
  return value.map((item: unknown) => {
    if (typeof item === 'string') return change(item)
    const text = item !== null && typeof item === 'object' ? (item as { text?: unknown }).text : undefined
    return typeof text === 'string' ? { ...(item as object), text: change(text) } : item
  })
}
