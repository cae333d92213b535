import { Ajv, type AnySchemaObject, type ErrorObject, type ValidateFunction } from 'ajv'
import { type ErrorCode, type Fault, gatewayError } from './errors.ts'

/** A JSON Schema (draft 2020-12 vocabulary as far as ajv's default draft-07 core knows it), as data. */
export type JsonSchema = AnySchemaObject

/** A shape that a value can be held to: the JSON Schema, which is published, and the check made from it. */
export interface Schema<T> {
  readonly json: JsonSchema
  /** The value with defaults filled in, as a copy. Throws `code` (default `config_invalid`) with every fault. */
  parse(value: unknown, code?: ErrorCode): T
  /** Everything wrong with the value; empty when it is right. The value is not changed. */
  faults(value: unknown): readonly Fault[]
}

const options = { allErrors: true, strict: true, strictRequired: false, allowUnionTypes: true, verbose: false } as const
const checking = new Ajv({ ...options, allErrors: false })
const listing = new Ajv(options)
const filling = { ...options, useDefaults: true } as const

/** How a schema is used. */
export interface SchemaUse {
  /**
   * Asked seldom, and large: it is compiled when it is needed and forgotten a second later, since what a compiled schema of this size
   * keeps in memory is more than the rest of the process.
   */
  readonly seldom?: boolean
}

/** Makes a {@link Schema}. Compiled on first use; a schema that is itself wrong throws then. */
export function createSchema<T>(json: JsonSchema, { seldom = false }: SchemaUse = {}): Schema<T> {
  const fill = (seldom ? forAMoment : once)(() => new Ajv(filling).compile(json))
  const quick = once(() => checking.compile(json))
  const list = once(() => listing.compile(json))
  const filled = (value: unknown): { copy: unknown; faults: readonly Fault[] } => {
    // A YAML alias is one object in two places; each place gets defaults of its own.
    const copy: unknown = JSON.parse(JSON.stringify(value))
    const validate = fill()
    return { copy, faults: validate(copy) ? [] : faultsFromErrors(validate.errors) }
  }
  return {
    json,
    parse(value, code = 'config_invalid') {
      const { copy, faults } = filled(value)
      const [first] = faults
      if (first) throw gatewayError(code, sayFault(first), { faults, field: first.path })
      return copy as T
    },
    faults(value) {
      if (seldom) return filled(value).faults
      if (quick()(value)) return []
      const validate = list()
      validate(value)
      return faultsFromErrors(validate.errors)
    },
  }
}

/** Kept for a second after it was made. */
function forAMoment(make: () => ValidateFunction): () => ValidateFunction {
  let made: ValidateFunction | undefined
  return () => {
    if (made) return made
    setTimeout(() => {
      made = undefined
    }, 1000).unref()
    made = make()
    return made
  }
}

/** A fault in one line: `path: message`. */
export function sayFault(fault: Fault | undefined): string {
  if (!fault) return 'invalid value'
  return fault.path ? `${fault.path}: ${fault.message}` : fault.message
}

function once(make: () => ValidateFunction): () => ValidateFunction {
  let made: ValidateFunction | undefined
  return () => {
    made ??= make()
    return made
  }
}

/** ajv's errors as {@link Fault}s: dotted paths with `[n]` for indices, one fault a place and message. */
export function faultsFromErrors(errors: readonly ErrorObject[] | null | undefined): Fault[] {
  const faults = new Map<string, Fault>()
  for (const error of errors ?? []) {
    if (error.keyword === 'if') continue
    const fault = faultFromError(error)
    faults.set(`${fault.path}\n${fault.message}`, fault)
  }
  return [...faults.values()]
}

function faultFromError(error: ErrorObject): Fault {
  const path = dottedPath(error.instancePath)
  switch (error.keyword) {
    case 'additionalProperties':
    case 'unevaluatedProperties': {
      const key = String(error.params['additionalProperty'] ?? error.params['unevaluatedProperty'])
      const known = knownKeys(error)
      return { path: joinPath(path, key), message: `unknown key${known ? `; known: ${known}` : ''}` }
    }
    case 'required':
      return { path: joinPath(path, String(error.params['missingProperty'])), message: 'is required' }
    case 'enum':
      return { path, message: `must be one of ${(error.params['allowedValues'] as unknown[]).map(show).join(', ')}` }
    case 'const':
      return { path, message: `must be ${show(error.params['allowedValue'])}` }
    case 'pattern':
      return { path, message: `must match ${String(error.params['pattern'])}` }
    default:
      return { path, message: error.message ?? 'is not valid' }
  }
}

function knownKeys(error: ErrorObject): string {
  const parent = error.parentSchema as { properties?: Record<string, unknown> } | undefined
  return parent?.properties ? Object.keys(parent.properties).join(', ') : ''
}

function show(value: unknown): string {
  return typeof value === 'string' ? `"${value}"` : String(value)
}

/** A JSON Pointer (RFC 6901) as a dotted path: `/messages/0/role` is `messages[0].role`. */
export function dottedPath(pointer: string): string {
  let path = ''
  for (const raw of pointer.split('/').slice(1)) path = joinPath(path, raw.replaceAll('~1', '/').replaceAll('~0', '~'))
  return path
}

/** One more step on a dotted path. */
export function joinPath(path: string, key: string): string {
  if (/^\d+$/.test(key) && path) return `${path}[${key}]`
  return path ? `${path}.${key}` : key
}
