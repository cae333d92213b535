import { createHmac, randomBytes } from 'node:crypto'
import { canonicalJson } from '../../../plugins/canonical.ts'
import { safeText } from '../../telemetry/redact.ts'
import { kindOf } from './difference.ts'

/** What may be shown of a value: never the value of a text, unless it is one of a protocol's own words. */
export interface Shown {
  readonly kind: string
  /** Tells equal values from others within this process; no dictionary finds what it was. 12 hex digits. */
  readonly hash: string
  /** UTF-16 code units of a text, items of a list, members of an object. */
  readonly length?: number
  /** Numbers, booleans, null, and words of a protocol such as `length` or `chat.completion`. */
  readonly value?: string | number | boolean | null
  /** A few characters around the first divergence, with what looks like data of people or keys left out. */
  readonly window?: string
}

/** What may be shown beside kind, hash and length. */
export interface Showing {
  /** The field holds words of a protocol. */
  readonly plain?: boolean
  /** Where a text of an answer parts from the other one. */
  readonly at?: number
}

const key = randomBytes(32)

/** A value as it may be shown and kept. */
export function shown(value: unknown, { plain = false, at }: Showing = {}): Shown {
  const kind = kindOf(value)
  const length = lengthOf(value)
  return {
    kind,
    hash: hashOf(value),
    ...(length === undefined ? {} : { length }),
    ...(plain && isPlain(value) ? { value } : {}),
    ...(at !== undefined && typeof value === 'string' ? { window: windowAt(value, at) } : {}),
  }
}

function hashOf(value: unknown): string {
  let text: string
  try {
    text = canonicalJson(value)
  } catch {
    // Nested too deeply to be told apart.
    text = kindOf(value)
  }
  return createHmac('sha256', key).update(text).digest('hex').slice(0, 12)
}

function lengthOf(value: unknown): number | undefined {
  if (typeof value === 'string' || Array.isArray(value)) return value.length
  return kindOf(value) === 'object' ? Object.keys(value as object).length : undefined
}

function isPlain(value: unknown): value is string | number | boolean | null {
  if (value === null || typeof value === 'number' || typeof value === 'boolean') return true
  return typeof value === 'string' && /^[a-z][\w./: -]{0,63}$/i.test(value) && !holdsData(value)
}

/** A key of known make, or a run of characters that no word is. */
const holdsData = (text: string): boolean => safeText(text) !== text || /[\w+/=-]{32,}/.test(text)

const before = 8
const after = 16
/** So much around the window is looked at, so that what is secret is known though the window cuts it. */
const context = 256

function windowAt(text: string, at: number): string {
  const from = Math.max(0, at - context)
  const near = text.slice(from, at + context)
  const covered = near
    .replace(/[\w.+-]+@[\w-]+\.[\w.]+/g, blot)
    .replace(/(?=[\w+/=.-]*\d)[\w+/=.-]{9,}|[\w+/=-]{20,}/g, blot)
    .replace(/\d(?:[\d -]{3,})\d/g, blot)
  const start = Math.max(0, at - from - before)
  return safeText(covered.slice(start, at - from + after))
}

/** Of the same length, so that the place of the divergence stays. */
const blot = (found: string): string => '#'.repeat(found.length)
