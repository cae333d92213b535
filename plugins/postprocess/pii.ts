import { isIP } from 'node:net'
import {
  isBrazilianId,
  isChineseId,
  isFrenchId,
  isSocialSecurity,
  isSpanishId,
  passesIban,
  passesLuhn,
} from './checksums.ts'
import type { Shape } from './pattern-watch.ts'

const digit = /[0-9]/
const word = /[A-Za-z0-9]/
/** Right before: no letter or digit; and no decimal point after a digit. Right after: neither. */
const before = '(?<![A-Za-z0-9]|[0-9][.,])'
const after = '(?![A-Za-z0-9]|[.,][0-9])'
const form = (source: string): RegExp => new RegExp(`${before}(?:${source})${after}`, 'y')

const numbers = (bound: number, sources: readonly string[], check?: (found: string) => boolean): Shape => ({
  first: digit,
  body: /[0-9 .-]/,
  glue: word,
  marks: digit,
  lead: 0,
  min: 9,
  bound,
  forms: sources.map(form),
  ...(check ? { check } : {}),
})

const email: Shape = {
  first: /[A-Za-z0-9._%+-]/,
  body: /[A-Za-z0-9._%+@-]/,
  glue: /[A-Za-z0-9._%+-]/,
  marks: /@/,
  lead: 64,
  min: 6,
  // RFC 5321 §4.5.3.1.3: a path is 256 octets, the angle brackets included.
  bound: 254,
  forms: [/[A-Za-z0-9._%+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,9}(?:xn--[A-Za-z0-9-]{2,59}|[A-Za-z]{2,63})/y],
}

const countDigits = (text: string): number => text.replace(/\D/g, '').length

const phone: Shape = {
  first: /[0-9+(]/,
  body: /[0-9 +()./-]/,
  glue: word,
  marks: digit,
  lead: 2,
  min: 8,
  bound: 32,
  forms: [
    // E.164 and its spaced spellings; then China: mobile, 400 and 800, landline; then North America; then a trunk 0 with groups.
    String.raw`\(?\+\(?\d(?:[ ./()-]{0,2}\d){7,14}`,
    String.raw`\(?(?:00)?86\)?[ -]?1[3-9]\d[ -]?\d{4}[ -]?\d{4}`,
    String.raw`1[3-9]\d[ -]?\d{4}[ -]?\d{4}`,
    String.raw`[48]00[ -]\d{3,4}[ -]?\d{3,4}`,
    String.raw`\(?0\d{2,3}\)?[ -]?\d{7,8}(?:-\d{1,6})?`,
    String.raw`(?:1[ .-])?(?:\(\d{3}\) ?|\d{3}[ .-])\d{3}[ .-]\d{4}`,
    String.raw`(?!\d{1,2}[ -]\d{1,2}[ -]\d{4})\(?0\d{1,4}\)?(?:[ -]\d{2,8}){1,4}`,
  ].map(form),
  check: (found) => countDigits(found) >= (found.includes('+') ? 8 : 9) && countDigits(found) <= 17,
}

const card = numbers(
  23,
  [
    String.raw`\d{4}([ -])\d{4}\1\d{4}\1\d{4}\1\d{1,3}`,
    String.raw`\d{4}([ -])\d{4}\1\d{4}\1\d{1,4}`,
    String.raw`\d{4}([ -])\d{6}\1\d{4,5}`,
    String.raw`\d{13,19}`,
  ],
  (found) => /^[2-6]/.test(found) && countDigits(found) >= 13 && passesLuhn(found),
)

const iban: Shape = {
  first: /[A-Za-z]/,
  body: /[A-Za-z0-9 ]/,
  glue: word,
  marks: digit,
  lead: 2,
  min: 15,
  bound: 42,
  // Longest first: what follows an IBAN may look like one more group.
  forms: [8, 7, 6, 5, 4, 3]
    .flatMap((groups) => [
      new RegExp(`[A-Za-z]{2}\\d{2}(?: [A-Za-z0-9]{4}){${groups - 1}} [A-Za-z0-9]{1,4}(?![A-Za-z0-9])`, 'y'),
      new RegExp(`[A-Za-z]{2}\\d{2}(?: [A-Za-z0-9]{4}){${groups - 1}}(?![A-Za-z0-9])`, 'y'),
    ])
    .concat(/[A-Za-z]{2}\d{2}[A-Za-z0-9]{11,30}(?![A-Za-z0-9])/y),
  check: passesIban,
}

const ipv4: Shape = {
  ...numbers(15, [String.raw`\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}`], (found) => isIP(found) === 4),
  body: /[0-9.]/,
  marks: /\./,
  lead: 3,
  min: 7,
}

const ipv6: Shape = {
  first: /[0-9A-Fa-f:]/,
  body: /[0-9A-Fa-f:.]/,
  glue: /[A-Za-z0-9:._]/,
  marks: /:/,
  lead: 4,
  min: 4,
  bound: 45,
  forms: [/[0-9A-Fa-f:]{2,39}(?:\.\d{1,3}){3}(?![A-Za-z0-9:])/y, /[0-9A-Fa-f:]{4,39}(?![A-Za-z0-9:_])/y],
  // Without a digit it is more likely a name with colons in program text.
  check: (found) => isIP(found) === 6 && digit.test(found),
}

const letters = (shape: Omit<Shape, 'glue' | 'forms'>, sources: readonly string[]): Shape => ({
  ...shape,
  glue: word,
  forms: sources.map(form),
})

const chineseId = letters(
  { first: digit, body: /[0-9Xx]/, marks: digit, lead: 0, min: 15, bound: 18, check: isChineseId },
  [String.raw`\d{17}[0-9Xx]`, String.raw`\d{15}`],
)
const spanishId = letters(
  { first: /[0-9XYZxyz]/, body: /[0-9A-Za-z-]/, marks: digit, lead: 2, min: 9, bound: 11, check: isSpanishId },
  [String.raw`[XYZxyz]-?\d{7}-?[A-Za-z]`, String.raw`\d{8}-?[A-Za-z]`],
)
const britishId = letters({ first: /[A-Z]/, body: /[A-Z0-9 ]/, marks: digit, lead: 3, min: 9, bound: 13 }, [
  String.raw`(?!BG|GB|KN|NK|NT|TN|ZZ)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?\d{2} ?\d{2} ?\d{2} ?[A-D]`,
])
const frenchId = letters(
  { first: /[12]/, body: /[0-9ABab ]/, marks: digit, lead: 0, min: 15, bound: 21, check: isFrenchId },
  [String.raw`[12] ?\d{2} ?\d{2} ?(?:\d{2}|2[ABab]) ?\d{3} ?\d{3} ?\d{2}`],
)

/**
 * The kinds of personal data that are known by shape. `national_id` is several: US SSN, Chinese resident id, UK NINO, Spanish DNI and NIE,
 * Brazilian CPF, French NIR.
 */
export const piiShapes = {
  email: [email],
  card: [card],
  iban: [iban],
  national_id: [
    numbers(11, [String.raw`\d{3}-\d{2}-\d{4}`, String.raw`\d{3} \d{2} \d{4}`], isSocialSecurity),
    chineseId,
    britishId,
    spanishId,
    numbers(14, [String.raw`\d{3}\.\d{3}\.\d{3}-\d{2}`], isBrazilianId),
    frenchId,
  ],
  phone: [phone],
  ip: [ipv4, ipv6],
} as const satisfies Record<string, readonly Shape[]>

/** A kind of {@link piiShapes}. */
export type PiiType = keyof typeof piiShapes
