import type { Body } from './engine.ts'
import { type Refusal, refusal } from './refusal.ts'

/** Bounds of a number member. */
export interface Bounds {
  readonly min: number
  readonly max: number
  readonly integer?: boolean
}

/** The refusal for a member whose value cannot be. */
export function invalid(param: string, what: string): Refusal {
  return refusal('invalid_value', `${param} ${what}`, { param })
}

/** Whether a value is a plain JSON object. */
export function isObject(value: unknown): value is Body {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A number member, or undefined when absent or null. Throws `invalid_value` out of bounds. */
export function numberField(body: Body, name: string, bounds: Bounds): number | undefined {
  const value = body[name]
  if (value === undefined || value === null) return undefined
  const kind = bounds.integer ? 'an integer' : 'a number'
  if (typeof value !== 'number' || !Number.isFinite(value) || (bounds.integer && !Number.isSafeInteger(value)))
    throw invalid(name, `must be ${kind}`)
  if (value < bounds.min || value > bounds.max)
    throw invalid(name, `must be ${kind} from ${bounds.min} to ${bounds.max}`)
  return value
}

/** A boolean member; false when absent or null. Throws `invalid_value` for anything else. */
export function booleanField(body: Body, name: string, absent = false): boolean {
  const value = body[name]
  if (value === undefined || value === null) return absent
  if (typeof value !== 'boolean') throw invalid(name, 'must be a boolean')
  return value
}

/** A string member, or undefined when absent or null. Throws `invalid_value` for anything else. */
export function stringField(body: Body, name: string): string | undefined {
  const value = body[name]
  if (value === undefined || value === null) return undefined
  if (typeof value !== 'string') throw invalid(name, 'must be a string')
  return value
}

/** An object member, or undefined when absent or null. Throws `invalid_value` for anything else. */
export function objectField(body: Body, name: string): Body | undefined {
  const value = body[name]
  if (value === undefined || value === null) return undefined
  if (!isObject(value)) throw invalid(name, 'must be an object')
  return value
}
