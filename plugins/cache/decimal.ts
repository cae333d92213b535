/** A number as it was written: its digits without leading zeros, and how many of them stand after the point. */
export interface Decimal {
  readonly negative: boolean
  readonly digits: string
  readonly scale: number
}

/** Longest numeric text that is taken for a number, in characters, and the largest power of ten. */
const maxLength = 400

const numeric = /^([+-]?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,3}))?$/

const { isRawJSON: isRawJson } = JSON as unknown as { isRawJSON(value: unknown): boolean }

/**
 * A JSON value as the decimal number it says, exactly: a number, an integer beyond 2⁵³ (its source digits), or text that is nothing
 * but a number. Undefined for everything else.
 */
export function decimalFromValue(value: unknown): Decimal | undefined {
  if (typeof value === 'number') return decimalFromText(String(value))
  if (typeof value === 'string') return value.length > maxLength ? undefined : decimalFromText(value.trim())
  return isRawJson(value) ? decimalFromText(JSON.stringify(value)) : undefined
}

function decimalFromText(text: string): Decimal | undefined {
  if (text.length > maxLength) return undefined
  const match = numeric.exec(text)
  if (!match) return undefined
  const [, sign, whole = '', fraction = '', exponent] = match
  const shift = Number(exponent ?? 0)
  if (Math.abs(shift) > maxLength) return undefined
  const scale = fraction.length - shift
  const digits = `${whole}${fraction}${'0'.repeat(Math.max(0, -scale))}`
  return trimmed({ negative: sign === '-', digits, scale: Math.max(0, scale) })
}

/** Without zeros that say nothing; there is no negative zero. */
function trimmed({ negative, digits, scale }: Decimal): Decimal {
  let end = digits.length
  let left = scale
  while (left > 0 && end > 0 && digits[end - 1] === '0') {
    end--
    left--
  }
  let start = 0
  while (start < end && digits[start] === '0') start++
  const kept = digits.slice(start, end)
  return kept ? { negative, digits: kept, scale: left } : { negative: false, digits: '0', scale: 0 }
}

/** The number rounded to so many places after the point, half away from zero. */
export function roundedDecimal(decimal: Decimal, places: number): Decimal {
  const drop = decimal.scale - places
  if (drop <= 0) return decimal
  const padded = decimal.digits.padStart(drop + 1, '0')
  const cut = padded.length - drop
  const kept = BigInt(padded.slice(0, cut)) + ((padded[cut] as string) >= '5' ? 1n : 0n)
  return trimmed({ negative: decimal.negative, digits: String(kept), scale: places })
}

/** The number in its one plain form: no exponent, no zeros that say nothing. */
export function textFromDecimal({ negative, digits, scale }: Decimal): string {
  const padded = digits.padStart(scale + 1, '0')
  const cut = padded.length - scale
  return `${negative ? '-' : ''}${padded.slice(0, cut)}${scale > 0 ? `.${padded.slice(cut)}` : ''}`
}

/** Whether the number is an integer of 64 bits with a sign. */
export function isInt64(decimal: Decimal): boolean {
  if (decimal.scale > 0 || decimal.digits.length > 19) return false
  const value = BigInt(textFromDecimal(decimal))
  return BigInt.asIntN(64, value) === value
}
