import type { Fault } from '../plugins/errors.ts'
import type { JsonSchema } from '../plugins/schema.ts'
import { closest } from './closest.ts'
import { memberNames, placeFromSchema, type SchemaPlace, stepInto } from './schema-walk.ts'

/** Says a schema's fault so that a person can act on it: what a misspelt word was meant to be, and which words there are. */
export function wordFault(fault: Fault, root: JsonSchema, value: unknown): Fault {
  if (fault.message.startsWith('unknown key')) return wordUnknownKey(fault, root)
  if (fault.message.startsWith('must be one of ')) return wordEnum(fault, valueAt(value, fault.path))
  if (/^must be [a-z]+(,[a-z]+)+$/.test(fault.message))
    return { ...fault, message: fault.message.replaceAll(',', ' or ') }
  return fault.message.startsWith('must match ') ? wordPattern(fault, root) : fault
}

/** A pattern says little by itself; the description of the field says what is meant. */
function wordPattern(fault: Fault, root: JsonSchema): Fault {
  const description = placeAt(root, stepsFromPath(fault.path)).find(
    (schema) => typeof schema['description'] === 'string',
  )
  return description
    ? { ...fault, message: `${fault.message} (${String(description['description']).replace(/\.$/, '')})` }
    : fault
}

function placeAt(root: JsonSchema, steps: readonly string[]): SchemaPlace {
  return steps.reduce((place, step) => stepInto(root, place, step), placeFromSchema(root))
}

function wordUnknownKey(fault: Fault, root: JsonSchema): Fault {
  const steps = stepsFromPath(fault.path)
  const key = steps.pop() ?? ''
  const known = memberNames(placeAt(root, steps))
  const near = closest(key, known)
  if (near !== undefined) return { ...fault, message: `unknown key; did you mean ${near}?` }
  return { ...fault, message: known.length > 0 ? `unknown key; known: ${known.join(', ')}` : 'unknown key' }
}

function wordEnum(fault: Fault, given: unknown): Fault {
  if (typeof given !== 'string') return fault
  const words = [...fault.message.matchAll(/"([^"]*)"/g)].map((match) => match[1] as string)
  const near = closest(given, words)
  return near === undefined ? fault : { ...fault, message: `${fault.message}; did you mean "${near}"?` }
}

/** The value at a fault's path, or undefined. */
export function valueAt(value: unknown, path: string): unknown {
  let at = value
  for (const step of stepsFromPath(path)) {
    at =
      typeof at === 'object' && at !== null && Object.hasOwn(at, step)
        ? (at as Record<string, unknown>)[step]
        : undefined
  }
  return at
}

/** A dotted path as its steps: `runners[0].url` is `runners`, `0`, `url`. */
export function stepsFromPath(path: string): string[] {
  return path.split(/\.|\[(\d+)\]\.?/).filter((step) => step !== undefined && step !== '')
}
