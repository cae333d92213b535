import type { Call } from '../call.ts'
import { type ChatRequest, textOfMessage } from '../chat.ts'
import { type ClientSchema, clientSchema } from '../client-schema.ts'
import { type GatewayError, gatewayError } from '../errors.ts'
import { absent, readPath } from '../path.ts'
import type { Cleaning } from './cleaning.ts'
import { type CompiledRules, comparable, soughtFor } from './compile.ts'
import type { Config } from './config.ts'
import { hasPlace } from './conflicts.ts'
import { createPhraseWatch } from './phrase-watch.ts'
import type { Rules } from './rules.ts'
import type { WatchMaker } from './scanner.ts'
import type { TagRules } from './tags.ts'

/** The rules for one route and tenant: those for all, with what differs for the route, with what differs for the tenant. */
export function rulesFor(config: Config, route: string, tenant: string | undefined): Rules {
  const { routes, tenants, ...rules } = config
  return { ...rules, ...own(routes, route), ...own(tenants, tenant) }
}

/** What a record holds under a name of its own. */
export function own<T>(record: Readonly<Record<string, T>>, name: string | undefined): T | undefined {
  return name !== undefined && Object.hasOwn(record, name) ? record[name] : undefined
}

/** That an answer must be JSON, and of what kind. */
export interface JsonDemand {
  /** Every one of them must hold. */
  readonly schemas: readonly ClientSchema[]
  /** It must be an object. */
  readonly object: boolean
}

/** Whether the body may hold a member or text: certain when it does not, found without parsing when nobody has parsed. */
function mentions(call: Call, text: string): boolean {
  return !call.untouched || call.body.includes(text)
}

/**
 * What JSON the answer to a call must be; undefined when it need not be any. Throws `invalid_schema` for a schema of the caller that is
 * wrong, and `unsatisfiable` when the mandatory suffix has no place in what the caller asks for.
 */
export function jsonDemand({ rules, schemas, suffix }: CompiledRules, call: Call): JsonDemand | undefined {
  const asked = askedFormat(rules, call)
  const given = callerSchema(asked)
  const object = asked?.type === 'json_object'
  if (schemas.length === 0 && !given && !object) return undefined
  const suffixed = suffix && (given || object) ? suffixFault(suffix.field, given?.raw) : undefined
  if (suffixed) throw suffixed
  return { schemas: given ? [...schemas, given.schema] : schemas, object }
}

function callerSchema(asked: ChatRequest['response_format']): { raw: unknown; schema: ClientSchema } | undefined {
  if (asked?.type === 'json_schema') {
    const named = asked['json_schema']
    if (named === null || typeof named !== 'object' || !('schema' in named)) {
      const field = 'response_format.json_schema.schema'
      throw gatewayError('invalid_schema', `${field}: is required`, { field })
    }
    return { raw: named.schema, schema: clientSchema(named.schema) }
  }
  const { schema: raw } = (asked ?? {}) as { schema?: unknown }
  // Several servers take the schema beside the type.
  if (asked?.type !== 'json_object' || raw === undefined || raw === null) return undefined
  return { raw, schema: clientSchema(raw, 'response_format.schema') }
}

function suffixFault(field: string | null, schema: unknown): GatewayError | undefined {
  if (field !== null && hasPlace(schema ?? true, field)) return undefined
  const clash = field === null ? 'no named field' : `no place for its field ${field}`
  return gatewayError('unsatisfiable', `response_format and the mandatory suffix clash: the suffix has ${clash}`, {
    field: 'response_format',
  })
}

/** Whether these rules can only be held to with the whole answer in hand. `json`: the answer must be JSON. */
export function needsWhole(rules: Rules, json: boolean): boolean {
  const moderated = rules.moderation !== null && rules.safety.some(({ threshold }) => threshold !== 'block_none')
  const checked = rules.required_phrases.length > 0 || rules.min_output_length > 0 || rules.quality_score !== null
  return json || checked || moderated
}

/**
 * Whether a stream under these rules is kept back until it is whole, which the status says as `buffered`. Throws nothing but what
 * `call.request` throws.
 */
export function buffers(rules: Rules, call: Call): boolean {
  const type = askedFormat(rules, call)?.type
  const held = rules.json.schema !== null || rules.asked?.schema !== undefined
  return needsWhole(rules, held || type === 'json_schema' || type === 'json_object')
}

function askedFormat(rules: Rules, call: Call): ChatRequest['response_format'] {
  const enforced = rules.json.responseFormat === 'enforce' && mentions(call, '"response_format"')
  return enforced ? call.request.response_format : undefined
}

/** The tags to take out of the answer to a call: those of the rules less those that the caller speaks of. */
function tagsFor({ rules: { reasoning } }: CompiledRules, call: Call): TagRules | undefined {
  if (!reasoning) return undefined
  // A gateway's own prompt may ask for tags; only what the caller wrote counts.
  const told = mentions(call, '<') || mentions(call, '\\u003c') ? callersText(call) : ''
  const kept = (name: string): boolean => !(told && new RegExp(`</?${name}[\\s/>]`, 'i').test(told))
  const tags = { ...reasoning, drop: reasoning.drop.filter(kept), unwrap: reasoning.unwrap.filter(kept) }
  return tags.drop.length + tags.unwrap.length > 0 ? tags : undefined
}

function callersText(call: Call): string {
  const { messages, prompt } = call.request
  const wrote = (role: string): boolean => role === 'user' || (call.untouched && role !== 'assistant')
  const texts = (messages ?? []).filter(({ role }) => wrote(role)).map(textOfMessage)
  return [...texts, typeof prompt === 'string' ? prompt : ''].join('\n')
}

/** The most values of a request that are looked for in its answer, and how much of each, in UTF-16 code units. */
const echoLimits = { values: 256, length: 4_096 } as const

/** A watch for the values of the request that must not come back; undefined when there are none. */
function echoWatch({ rules, echo }: CompiledRules, call: Call): WatchMaker | undefined {
  if (!echo) return undefined
  const values = new Set<string>()
  for (const path of echo.compiled) collect(readPath(path, call), values, 0)
  const sought = soughtFor(rules, { rule: 'echo_guard', label: 'value', action: echo.action, rank: 20 })
  const list = [...values]
    .map((value) =>
      comparable(
        rules,
        value
          .trim()
          .slice(0, echoLimits.length)
          .replace(/[\ud800-\udbff]$/, ''),
      ),
    )
    .filter((phrase) => phrase.length >= echo.minLength)
    .map((phrase) => ({ phrase, sought }))
  return createPhraseWatch(list, rules.phrases.semantics)
}

/** The texts and numbers in a value; of a content part only what it says. */
function collect(value: unknown, into: Set<string>, depth: number): void {
  if (value === absent || value === null || into.size >= echoLimits.values || depth > 16) return
  if (typeof value === 'string') into.add(value)
  else if (typeof value === 'number') into.add(String(value))
  else if (typeof value === 'object') {
    const { text } = value as { text?: unknown }
    for (const member of typeof text === 'string' ? [text] : Object.values(value)) collect(member, into, depth + 1)
  }
}

/** How the answer to a call is cleaned; undefined when these rules change nothing of it. `count` hears of redactions and blocks. */
export function cleaningFor(
  compiled: CompiledRules,
  call: Call,
  count: (what: 'redacted' | 'blocked') => void,
): Cleaning | undefined {
  const echo = echoWatch(compiled, call)
  const tags = tagsFor(compiled, call)
  const watches = echo ? [...compiled.plan.watches, echo] : compiled.plan.watches
  if (watches.length === 0 && !tags && !compiled.suffix) return undefined
  return {
    plan: { ...compiled.plan, watches },
    tags,
    suffix: compiled.suffix?.text,
    toolCalls: watches.length > 0 && compiled.rules.pii?.toolCalls === true,
    keepsContent: false,
    redacted: () => count('redacted'),
    blocked: () => count('blocked'),
  }
}
