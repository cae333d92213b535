import { sha256 } from '../../../plugins/canonical.ts'
import type { Shown } from './shown-value.ts'

/**
 * How a field is held: H exactly; S structure, N numbers and T text, each against the old path's own noise; P presence and shape only;
 * I not at all.
 */
export type FieldClass = 'H' | 'S' | 'N' | 'P' | 'T' | 'I'

/**
 * A difference that trips the fuse at the first one: a caller let in whom the gateway refused or takes for somebody of another tenant, or
 * a cache key that belongs to another tenant's call.
 */
export type F1Kind = 'auth-false-allow' | 'cross-tenant-key'

/** In what way two values differ. */
export type DiffKind =
  | 'verdict' // pass, answer or refuse
  | 'code' // both refuse, for different reasons
  | 'ending' // what the layer made of the answer
  | 'digest' // the digests differ; where is not known
  | 'type'
  | 'value'
  | 'missing' // the new side lacks it
  | 'added' // only the new side has it
  | 'length'
  | 'keys'
  | 'shape'
  | 'text'
  | 'inconsistent' // the new answer contradicts itself or the request, and the old one did not

/** How two texts part ways. */
export interface Divergence {
  /** Index of the first UTF-16 code unit that differs. */
  readonly at: number
  /** The same in words, as {@link wordsOf} counts them. */
  readonly word: number
  /** Common prefix by the longer one's length, 0 to 1. */
  readonly prefix: number
}

/** One difference between what the old side said and the new one. */
export interface Difference {
  readonly class: FieldClass
  readonly kind: DiffKind
  /** Normalised path; undefined where only digests differ, so that nobody knows where. */
  readonly path: string | undefined
  /** Kinds of the two values, or the two outcomes: old, new. */
  readonly kinds: readonly [string, string]
  /** Codes or statuses: old, new; empty where there is none. */
  readonly codes: readonly [string, string]
  /** Names all differences of this form; 16 hex digits. */
  readonly signature: string
  readonly f1?: F1Kind
  readonly divergence?: Divergence
  /** What may be shown of the two values. */
  readonly shown?: readonly [Shown, Shown]
}

/** What {@link differenceIn} makes a difference from. */
export type DifferenceParts = Omit<Difference, 'signature' | 'codes' | 'path'> & {
  readonly path?: string | undefined
  readonly codes?: Difference['codes']
}

/** Makes a {@link Difference} in a layer: normalises its path and gives it its signature. */
export function differenceIn(layer: string, parts: DifferenceParts): Difference {
  const path = parts.path === undefined ? undefined : normalisedPath(parts.path)
  const codes = parts.codes ?? ['', '']
  const form = [layer, path ?? '?', parts.kind, parts.kinds.join('→'), codes.join('→')]
  return { ...parts, path, codes, signature: sha256(form.join('|')).slice(0, 16) }
}

const longestKey = 40

/** A path with indices as `[*]`, and members that are ids, numbers or longer than a name would be as `#`. */
export function normalisedPath(path: string): string {
  return path
    .replace(/\[\d+\]/g, '[*]')
    .split('.')
    .map((key) => {
      const [, name = '', rest = ''] = /^([^[]*)(.*)$/s.exec(key) ?? []
      return (isName(name) ? name : '#') + rest
    })
    .join('.')
}

/** Members are named by people; what is long, has blanks in it, or is made of digits came from data. */
function isName(key: string): boolean {
  if (key.length > longestKey || !/^[\w$*-]*$/.test(key)) return false
  return !/\d{5}|^\d+$/.test(key) && !/^(?=[0-9a-f-]*\d)[0-9a-f-]{8,}$/i.test(key)
}

/** The kind of a JSON value, in one word. Integers kept by their digits (`JSON.rawJSON`) are numbers. */
export function kindOf(value: unknown): string {
  if (value === undefined) return 'absent'
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  if (typeof value === 'object') return isRawJson(value) ? 'number' : 'object'
  return typeof value
}

/** A number that JSON.parse would have rounded, kept by its digits. */
export function isRawJson(value: unknown): boolean {
  return rawJson.isRawJSON(value)
}

const rawJson = JSON as unknown as { isRawJSON(value: unknown): boolean }
