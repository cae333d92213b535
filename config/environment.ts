import type { Fault } from '../plugins/errors.ts'
import { type JsonSchema, joinPath } from '../plugins/schema.ts'
import { closest } from './closest.ts'
import { memberNames, placeFromSchema, type SchemaPlace, stepInto, takesAnyMember, typesAt } from './schema-walk.ts'

/** What every overriding environment variable begins with, in any case. */
const prefix = 'foldgate__'

/** The environment variables that set something, by the dotted path they set. */
export type Overridden = ReadonlyMap<string, string>

/** A value with the environment's settings laid over it. */
export interface Overriding {
  readonly value: unknown
  readonly faults: readonly Fault[]
  readonly overridden: Overridden
}

/**
 * Lays `FOLDGATE__LISTEN__PORT=9000` and its like over a configuration: two underscores between levels, any case, `-` as `_`, entries
 * of lists by index. Values are typed by the schema; a list or a section is given as JSON. The value passed in is not changed.
 */
export function overrideFromEnvironment(value: unknown, env: NodeJS.ProcessEnv, root: JsonSchema): Overriding {
  const copy: unknown = structuredClone(value) ?? {}
  const faults: Fault[] = []
  const overridden = new Map<string, string>()
  const names = Object.keys(env).filter((name) => name.toLowerCase().startsWith(prefix))
  for (const name of names.sort((a, b) => a.localeCompare(b, 'en', { numeric: true }))) {
    const setting = { name, text: env[name] ?? '', root }
    const outcome = override(copy, setting)
    if ('message' in outcome)
      faults.push({ path: outcome.path, message: `environment variable ${name}: ${outcome.message}` })
    else if (overridden.has(outcome.path)) {
      faults.push({ path: outcome.path, message: `is set twice: by ${overridden.get(outcome.path)} and ${name}` })
    } else overridden.set(outcome.path, name)
  }
  return { value: copy, faults, overridden }
}

interface Setting {
  readonly name: string
  readonly text: string
  readonly root: JsonSchema
}

type Outcome = { readonly path: string } | Fault

function override(target: unknown, { name, text, root }: Setting): Outcome {
  const segments = name.slice(prefix.length).split('__')
  let holder = target
  let place = placeFromSchema(root)
  let path = ''
  for (const [index, segment] of segments.entries()) {
    const key = keyFromSegment(segment, place, holder)
    if (typeof key === 'object') return { path: path || segment.toLowerCase(), message: key.why }
    place = stepInto(root, place, key)
    path = joinPath(path, key)
    const last = index === segments.length - 1
    if (last) setOwn(holder as object, key, valueFromText(text, typesAt(place)))
    else holder = innerHolder(holder as object, key, place)
    if (holder === undefined) return { path, message: 'names something inside a value that holds nothing' }
  }
  return { path }
}

/** The name that a segment stands for: a declared one, one that is already there, or, in a free map, itself in lower case. */
function keyFromSegment(segment: string, place: SchemaPlace, holder: unknown): string | { why: string } {
  if (segment === '') return { why: 'has an empty level' }
  if (Array.isArray(holder)) return indexFromSegment(segment, holder)
  const declared = memberNames(place)
  const present = Object.keys(holder as object)
  const named = matching(segment, declared) ?? matching(segment, present)
  if (named !== undefined) return named
  if (takesAnyMember(place)) return segment.toLowerCase()
  const near = closest(segment, declared)
  return { why: `nothing is called ${segment.toLowerCase()}${near ? `; did you mean ${near}?` : ''}` }
}

function indexFromSegment(segment: string, list: readonly unknown[]): string | { why: string } {
  if (!/^\d{1,6}$/.test(segment)) return { why: `${segment.toLowerCase()} is no index of a list` }
  const index = Number(segment)
  return index <= list.length ? String(index) : { why: `index ${index} leaves a gap: the list has ${list.length}` }
}

function matching(segment: string, names: readonly string[]): string | undefined {
  const same = (spell: (word: string) => string) => names.find((name) => spell(name) === spell(segment))
  return (
    same((word) => word.toLowerCase().replaceAll('-', '_')) ??
    same((word) => word.toLowerCase().replaceAll(/[-_]/g, ''))
  )
}

/** What is there, or a new section or list where the schema has one. */
function innerHolder(holder: object, key: string, place: SchemaPlace): object | undefined {
  const there = Object.hasOwn(holder, key) ? (holder as Record<string, unknown>)[key] : undefined
  if (typeof there === 'object' && there !== null) return there
  if (there !== undefined && there !== null) return undefined
  const types = typesAt(place)
  if (!types.has('object') && !types.has('array')) return undefined
  return setOwn(holder, key, types.has('array') ? [] : {}) as object
}

// Plain assignment to a name such as __proto__ would not make a member.
function setOwn(holder: object, key: string, value: unknown): unknown {
  Object.defineProperty(holder, key, { value, writable: true, enumerable: true, configurable: true })
  return value
}

/** A text as the first type it can be; text that fits none stays text, and the schema says what is wrong with it. */
function valueFromText(text: string, types: ReadonlySet<string>): unknown {
  const word = text.trim().toLowerCase()
  if (types.has('null') && word === 'null') return null
  if (types.has('boolean') && (word === 'true' || word === 'false')) return word === 'true'
  const numeric = types.has('number') || types.has('integer')
  if (numeric && /^[+-]?\d+(\.\d+)?(e[+-]?\d+)?$/.test(word)) return Number(word)
  const bracket = types.has('array') ? '[' : types.has('object') ? '{' : undefined
  return bracket && text.trimStart().startsWith(bracket) ? jsonFromText(text) : text
}

function jsonFromText(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
