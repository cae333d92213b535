import { _, Ajv, type CodeKeywordDefinition, type Format, type Options, type ValidateFunction } from 'ajv'
import { Ajv2019 } from 'ajv/dist/2019.js'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { fullFormats } from 'ajv-formats/dist/formats.js'
import { RE2JS } from 're2js'
import { canonicalJson, sha256 } from './canonical.ts'
import { type Fault, type GatewayError, gatewayError } from './errors.ts'
import { faultsFromErrors, joinPath } from './schema.ts'

/** A JSON Schema that somebody else wrote, compiled under limits. */
export interface ClientSchema {
  /** SHA-256 of the schema's JSON text, as lower-case hex. */
  readonly digest: string
  /**
   * What is wrong with a value; empty when it is right. Stops at the first fault and its alternatives. Bounded: a check that takes more
   * than {@link schemaLimits}`.steps` is itself a fault. Never throws.
   */
  faults(value: unknown): readonly Fault[]
}

/** The most a schema may have: bytes, levels, values, values of an `enum`, branches, characters of a `pattern`; and steps of one check. */
export const schemaLimits = {
  bytes: 256 * 1024,
  depth: 64,
  nodes: 5_000,
  enum: 2_000,
  branches: 500,
  pattern: 1_024,
  steps: 500_000,
} as const

const makers = { 'draft-04': Ajv, 'draft-07': Ajv, '2019-09': Ajv2019, '2020-12': Ajv2020 } as const
type Draft = keyof typeof makers
const dialect = /^https?:\/\/json-schema\.org\/(?:draft\/(2019-09|2020-12)|(draft-0[467]))\/schema#?$/
const byIdentity = new WeakMap<object, ClientSchema>()
const byDigest = new Map<string, { readonly schema: ClientSchema; readonly bytes: number }>()
let keptBytes = 0

/**
 * The check for a schema from a client or an operator. The draft is picked by `$schema`: 2020-12, 2019-09, 07 and 06, 04; without it
 * 2020-12, or the older draft whose forms it uses. `format` is enforced where it is known; unknown formats and keywords say nothing.
 * Patterns run in linear time (RE2 syntax), no `$ref` is ever fetched, and equal schemas share one check (LRU). `at` names where the
 * schema stands. Throws `invalid_schema` with the path of the fault.
 */
export function clientSchema(schema: unknown, at = 'response_format.json_schema.schema'): ClientSchema {
  if (typeof schema !== 'boolean' && (schema === null || typeof schema !== 'object' || Array.isArray(schema))) {
    throw refusal(at, '', 'must be an object')
  }
  const known = byIdentity.get(schema as object)
  if (known) return known
  admit(schema, at)
  const text = JSON.stringify(schema)
  if (text.length > schemaLimits.bytes) throw refusal(at, '', `is longer than ${schemaLimits.bytes} bytes`)
  const digest = sha256(text)
  const made = byDigest.get(digest)?.schema ?? compiled(text, digest, at)
  keep(digest, made, text.length)
  if (typeof schema === 'object') byIdentity.set(schema, made)
  return made
}

/** How many compiled checks are kept now; never more than 256. */
export function keptSchemas(): number {
  return byDigest.size
}

function keep(digest: string, schema: ClientSchema, bytes: number): void {
  if (byDigest.delete(digest)) keptBytes -= bytes
  byDigest.set(digest, { schema, bytes })
  keptBytes += bytes
  for (const [oldest, entry] of byDigest) {
    if (byDigest.size <= 256 && keptBytes <= 4 * 1024 * 1024) break
    byDigest.delete(oldest)
    keptBytes -= entry.bytes
  }
}

function refusal(at: string, path: string, message: string, cause?: unknown): GatewayError {
  const field = path ? `${at}.${path}`.replaceAll('.[', '[') : at
  return gatewayError('invalid_schema', `${field}: ${message}`, { field, faults: [{ path: field, message }], cause })
}

/** Refuses what would cost too much, before anything is serialised or compiled. Depth-first, at most 64 levels deep. */
function admit(schema: unknown, at: string): void {
  let nodes = 0
  const visit = (value: unknown, path: string, depth: number): void => {
    if (++nodes > schemaLimits.nodes) throw refusal(at, '', `has more than ${schemaLimits.nodes} values`)
    if (value === null || typeof value !== 'object') return
    if (depth > schemaLimits.depth) throw refusal(at, path, `is nested deeper than ${schemaLimits.depth} levels`)
    for (const [key, member] of Object.entries(value)) {
      const here = joinPath(path, key)
      const fault = Array.isArray(value) ? undefined : memberFault(key, member)
      if (fault) throw refusal(at, here, fault)
      visit(member, here, depth + 1)
    }
  }
  visit(schema, '', 0)
}

function memberFault(key: string, member: unknown): string | undefined {
  const { enum: values, branches, pattern } = schemaLimits
  const length = Array.isArray(member) || typeof member === 'string' ? member.length : 0
  if (key === 'enum' && length > values) return `has more than ${values} values`
  if (/^(?:anyOf|oneOf|allOf|prefixItems)$/.test(key) && length > branches) return `has more than ${branches} branches`
  return key === 'pattern' && length > pattern ? `is longer than ${pattern} characters` : undefined
}

function draftOf(named: unknown, text: string, at: string): Draft {
  if (named === undefined) {
    // Without $schema an old draft shows by forms that a newer one no longer has.
    if (/"exclusiveM(?:in|ax)imum":(?:true|false)/.test(text)) return 'draft-04'
    return /"items":\[|"additionalItems":/.test(text) ? 'draft-07' : '2020-12'
  }
  const draft = dialect.exec(String(named))
  if (draft) return (draft[1] ?? (draft[2] === 'draft-04' ? 'draft-04' : 'draft-07')) as Draft
  throw refusal(at, '$schema', 'names a draft that is not known; known: 2020-12, 2019-09, draft-07, draft-06, draft-04')
}

function compiled(text: string, digest: string, at: string): ClientSchema {
  // A copy of our own: what is compiled cannot change afterwards, and drafts and async checks are decided here.
  const draft = draftOf(JSON.parse(text).$schema, text, at)
  const schema = JSON.parse(text, draft === 'draft-04' ? modernised : undefined)
  for (const member of ['$schema', '$async', 'id']) if (typeof schema === 'object') delete schema[member]
  return { digest, faults: check.bind(undefined, compile(schema, draft, at)) }
}

/** Draft 04 said exclusive bounds as a flag beside the bound. */
function modernised(_key: string, value: unknown): unknown {
  for (const end of value && typeof value === 'object' ? ['Minimum', 'Maximum'] : []) {
    const members = value as Record<string, unknown>
    const [flag, bound] = [`exclusive${end}`, members[end.toLowerCase()]]
    if (typeof members[flag] === 'boolean') members[flag] = members[flag] && bound !== undefined ? bound : undefined
    if (members[flag] === undefined) delete members[flag]
  }
  return value
}

const metaChecks: Partial<Record<Draft, Ajv>> = {}

function compile(schema: unknown, draft: Draft, at: string): ValidateFunction {
  metaChecks[draft] ??= new makers[draft]({ ...tolerant, validateFormats: false })
  const meta = metaChecks[draft]
  if (!meta.validateSchema(schema as object)) {
    const [fault] = faultsFromErrors(meta.errors)
    throw refusal(at, fault?.path ?? '', fault?.message ?? 'is not a valid schema')
  }
  // One instance a schema, so that an `$id` of one never meets that of another. It holds no meta-schema: that makes it cheap.
  const ajv = new makers[draft](options)
  for (const keyword of metered) meter(ajv.getKeyword(keyword))
  ajv.removeKeyword('uniqueItems')
  ajv.addKeyword(uniqueItems)
  try {
    return ajv.compile(schema as object)
  } catch (cause) {
    throw compileFault(schema, cause, at)
  }
}

function compileFault(schema: unknown, cause: unknown, at: string): GatewayError {
  const { missingRef: missing, pattern, message } = cause as Error & { missingRef?: string; pattern?: string }
  if (missing !== undefined) {
    const path = pathOf(schema, (key, ref) => /^\$(\w+R|r)ef$/.test(key) && `${missing}#`.includes(String(ref)))
    return refusal(at, path, 'refers to something that is not in this schema; nothing is ever fetched', cause)
  }
  if (pattern === undefined) return refusal(at, '', message, cause)
  const path = pathOf(schema, (key, value) => value === pattern || key === pattern)
  return refusal(at, path, 'is not a pattern that can be matched in linear time (RE2 syntax)', cause)
}

/** The dotted path of the first member that fits; empty when none does. */
function pathOf(value: unknown, fits: (key: string, member: unknown) => boolean, path = ''): string {
  if (value === null || typeof value !== 'object') return ''
  for (const [key, member] of Object.entries(value)) {
    const here = joinPath(path, key)
    const found = fits(key, member) ? here : pathOf(member, fits, here)
    if (found) return found
  }
  return ''
}

// One check runs at a time and to its end, so one counter serves them all.
let steps = 0
const exhausted = Symbol('exhausted')
function spend(amount: number): void {
  steps -= amount
  if (steps < 0) throw exhausted
}

function check(validate: ValidateFunction, value: unknown): readonly Fault[] {
  steps = schemaLimits.steps
  try {
    return validate(value) ? [] : faultsFromErrors(validate.errors)
  } catch (reason) {
    return [{ path: '', message: reason === exhausted ? 'takes too many steps to check' : 'is nested too deeply' }]
  }
}

// Only references and alternatives can make a check cost more than schema size times value size.
const metered = ['$ref', '$dynamicRef', '$recursiveRef', 'anyOf', 'oneOf', 'allOf', 'enum']

function meter(keyword: unknown): void {
  if (typeof keyword === 'boolean') return
  const definition = keyword as CodeKeywordDefinition
  const { code } = definition
  definition.code = (cxt, ruleType) => {
    const tick = cxt.gen.scopeValue('func', { key: 'spend', ref: spend })
    cxt.gen.code(_`${tick}(${Array.isArray(cxt.schema) ? cxt.schema.length + 1 : 1})`)
    code(cxt, ruleType)
  }
}

const uniqueItems = {
  keyword: 'uniqueItems',
  type: 'array',
  schemaType: 'boolean',
  validate(wanted: boolean, items: readonly unknown[]): boolean {
    if (wanted) spend(items.length)
    return !wanted || new Set(items.map(canonicalJson)).size === items.length
  },
} as const

function regExp(source: string): { test(text: string): boolean; toString(): string } {
  try {
    const pattern = RE2JS.compile(RE2JS.translateRegExp(source))
    const test = (text: string): boolean => {
      spend(1 + Math.ceil((text.length * pattern.programSize()) / 64))
      return pattern.test(text)
    }
    return { test, toString: () => source }
  } catch (cause) {
    throw Object.assign(gatewayError('invalid_schema', 'not a pattern', { cause }), { pattern: source })
  }
}
regExp.code = 'linear'

// The formats that are one expression over the whole text are the ones that long text could slow down.
const bounded = (format: Format): Format => {
  const test = format instanceof RegExp ? (text: string) => format.test(text) : format
  return typeof test === 'function' ? (text: string) => text.length <= 4_096 && test(text) === true : format
}

const tolerant = { strict: false, logger: false } as const
const options: Options = {
  ...tolerant,
  meta: false,
  validateSchema: false,
  inlineRefs: false,
  ownProperties: true,
  code: { regExp, optimize: false },
  formats: Object.fromEntries(Object.entries(fullFormats).map(([name, format]) => [name, bounded(format as Format)])),
}
