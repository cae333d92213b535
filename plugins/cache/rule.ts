import type { Call } from '../call.ts'
import { canonicalDigest } from '../canonical.ts'
import type { ChatRequest } from '../chat.ts'
import { directiveMembers } from '../directives.ts'
import { absent, type Path, readPath, readSteps } from '../path.ts'
import type { Hook } from './hooks.ts'
import { eachText, type Precise, type Precision, preciseValue } from './precision.ts'

/** Raised when the same call gives another key than before, so that entries of older versions are never found. */
const keyVersion = 1

/** What decides the key, compiled. */
export interface Rule {
  /** Digest of the effective fields, precisions and hooks. */
  readonly digest: string
  /** Only calls with temperature 0 or a seed. */
  readonly deterministic: boolean
  /** Null: the whole body. */
  readonly fields: readonly RuleField[] | null
  /** Hooks on the whole body; empty when there are fields. */
  readonly bodyHooks: readonly { readonly path: Path; readonly hook: Hook }[]
  /** Fields that a caller's directives add. They only tell calls apart that would else share an answer. */
  readonly added: readonly RuleField[]
  /** Members of the body that are no part of the question. */
  readonly beside: ReadonlySet<string>
}

/** One compiled field of the key. */
export interface RuleField {
  readonly path: Path
  readonly precision: Precision | undefined
  readonly hooks: readonly Hook[]
}

/** Why a call is not cached: a closed list, printed in `Cache-Status` and carried by the fact `cacheKey`. */
export type BypassReason = 'hash-field-absent' | 'not-deterministic' | 'inside-not-cacheable' | 'ttl-zero' | 'asked'

/** What was found out about a call's key: the digest that names its answer, or why it has none. Plain data. */
export type CacheKey = { readonly digest: string } | { readonly reason: BypassReason }

/** What of a call, beside its body, makes the key. */
export interface Surroundings {
  /** Digest of the rules of every layer further in, with the facts they name; undefined when an answer must not be kept. */
  readonly inside: string | undefined
}

/** A judged call: its key, and the digest of the question alone, which curated answers are found by. */
export type Judged =
  | { readonly key: { readonly digest: string }; readonly question: string }
  | { readonly key: { readonly reason: BypassReason }; readonly question: string | undefined }

/**
 * Members that change how an answer is delivered or billed, and not what it says; and the caller's directives, which count by what they
 * make of the rules.
 */
export const besideTheQuestion: readonly string[] = [
  ...['stream', 'stream_options', 'user', 'metadata'],
  ...directiveMembers,
]
/** Members that `input_hash_fields` stands for. */
const input: ReadonlySet<string> = new Set(['messages', 'prompt', 'input'])

/** The key of a call: tenant, route, requested model, rules inside, effective rule, fields and every parameter. Pure. */
export function judge(rule: Rule, call: Call, { inside }: Surroundings): Judged {
  const question = questionDigest(rule, call)
  const added = fieldValues(rule.added, call)
  if (question === undefined || !added) return { key: { reason: 'hash-field-absent' }, question }
  if (rule.deterministic && !isDeterministic(call)) return { key: { reason: 'not-deterministic' }, question }
  if (inside === undefined) return { key: { reason: 'inside-not-cacheable' }, question }
  const tenant = call.facts.principal?.tenant ?? null
  const parts = [keyVersion, tenant, call.route, call.request.model, inside, rule.digest, question]
  return { key: { digest: canonicalDigest(added.length > 0 ? [...parts, added] : parts) }, question }
}

/** Digest of what is asked, whoever asks: the fields and parameters, or the whole body. Undefined when a field is absent. */
export function questionDigest(rule: Rule, call: Call): string | undefined {
  if (!rule.fields) return canonicalDigest(hookedBody(rule, call.request))
  const values = fieldValues(rule.fields, call)
  return values && canonicalDigest([values, parameters(rule, call.request)])
}

/** Digest of the fields' values alone. Undefined when there are no fields, or one of them is absent. */
export function fieldsDigest(rule: Rule, call: Call): string | undefined {
  const values = rule.fields ? fieldValues(rule.fields, call) : undefined
  return values && canonicalDigest(values)
}

/** As {@link fieldsDigest}, over values given by the paths' own text. */
export function digestFromValues(
  rule: Rule,
  given: Readonly<Record<string, unknown>>,
): { readonly digest: string } | { readonly missing: string } {
  const values: [string, Precise][] = []
  for (const field of rule.fields ?? []) {
    const value = readSteps(given, [field.path.text])
    if (value === absent) return { missing: field.path.text }
    values.push([field.path.text, fieldValue(field, value)])
  }
  return { digest: canonicalDigest(values) }
}

function fieldValues(fields: readonly RuleField[], call: Call): [string, Precise][] | undefined {
  const values: [string, Precise][] = []
  for (const field of fields) {
    const value = readPath(field.path, call)
    if (value === absent) return undefined
    values.push([field.path.text, fieldValue(field, value)])
  }
  return values
}

function fieldValue(field: RuleField, value: unknown): Precise {
  const hooked = field.hooks.reduce((so, hook) => eachText(so, hook), value)
  return preciseValue(hooked, field.precision)
}

/** Every other member that may change the answer. One that is a field itself counts there, under its precision. */
function parameters({ fields, beside }: Rule, request: ChatRequest): Record<string, unknown> {
  const named = (key: string): boolean =>
    fields?.some(({ path }) => path.source === 'body' && path.steps.length === 1 && path.steps[0] === key) ?? false
  return without(request, (key) => beside.has(key) || input.has(key) || named(key))
}

function hookedBody(rule: Rule, request: ChatRequest): unknown {
  const body = without(request, (key) => rule.beside.has(key))
  return rule.bodyHooks.reduce<unknown>((so, { path, hook }) => {
    return changedAt(so, path.steps, (value) => eachText(value, hook))
  }, body)
}

function without(request: ChatRequest, leaves: (key: string) => boolean): Record<string, unknown> {
  return Object.fromEntries(Object.entries(request).filter(([key]) => !leaves(key)))
}

/** A copy with the value at a path changed; the value itself when there is nothing there. */
function changedAt(value: unknown, steps: readonly (string | number)[], change: (value: unknown) => unknown): unknown {
  const [step, ...rest] = steps
  if (step === undefined) return change(value)
  if (readSteps(value, [step]) === absent) return value
  if (Array.isArray(value)) {
    const index = (step as number) < 0 ? value.length + (step as number) : (step as number)
    return value.with(index, changedAt(value[index], rest, change))
  }
  const members = value as Record<string, unknown>
  return { ...members, [step]: changedAt(members[step], rest, change) }
}

/** Temperature 0 or a seed; an embedding has neither and is the same each time. An absent temperature is not 0. */
function isDeterministic({ route, request }: Call): boolean {
  return route === 'embeddings' || request.temperature === 0 || (request.seed !== undefined && request.seed !== null)
}
