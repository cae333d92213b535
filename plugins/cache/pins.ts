import { type Call, createCall } from '../call.ts'
import { jsonFromText } from '../chat.ts'
import type { Completion } from '../chunks.ts'
import { type Fault, GatewayError } from '../errors.ts'
import type { Host } from '../host.ts'
import { createSchema } from '../schema.ts'
import type { CacheConfig } from './config.ts'
import { type CachedRoute, type Pin, pinSchema } from './pin.ts'
import { digestFromValues, fieldsDigest, questionDigest, type Rule } from './rule.ts'

/** Curated answers, found by what is asked. */
export interface Pins {
  /** The JSON bytes of the answer, if there is one for this call. `question` is the call's, where it has one. */
  find(call: Call, question: string | undefined): Buffer | undefined
  readonly size: number
}

const pinLine = createSchema<Pin>(pinSchema)

/** Reads the curated answers of a configuration and of its import file; what is wrong with them is added to `faults`. */
export function pinsFromConfig(
  config: Pick<CacheConfig, 'pinned' | 'importFile'>,
  rule: Rule,
  { host, faults }: PinsInit,
): Pins {
  const byQuestion = new Map<string, Buffer>()
  const byFields = new Map<string, Buffer>()
  const add = (pin: Pin, at: string): void => {
    const fault = addPin(pin, rule, { byQuestion, byFields })
    if (fault) faults.push({ path: at, message: fault })
  }
  for (const [index, pin] of config.pinned.entries()) add(pin, `pinned[${index}]`)
  if (config.importFile !== null) for (const { pin, at } of readLines(config.importFile, { host, faults })) add(pin, at)
  return {
    size: byQuestion.size + byFields.size,
    find(call, question) {
      const { tenant } = call.facts.principal ?? {}
      const asked =
        byQuestion.size > 0 && question !== undefined
          ? lookUp(byQuestion, [call.route, question, ''], tenant)
          : undefined
      if (asked || byFields.size === 0) return asked
      const values = fieldsDigest(rule, call)
      if (values === undefined) return undefined
      const { model } = call.request
      return lookUp(byFields, [call.route, values, model], tenant) ?? lookUp(byFields, [call.route, values, ''], tenant)
    },
  }
}

/** What reading the curated answers takes. */
export interface PinsInit {
  readonly host: Pick<Host, 'file'>
  readonly faults: Fault[]
}

/** A tenant's own answer comes before everybody's. */
function lookUp(
  pins: ReadonlyMap<string, Buffer>,
  name: readonly string[],
  tenant: string | undefined,
): Buffer | undefined {
  const own = tenant === undefined ? undefined : pins.get(JSON.stringify([...name, tenant]))
  return own ?? pins.get(JSON.stringify([...name, null]))
}

interface PinMaps {
  readonly byQuestion: Map<string, Buffer>
  readonly byFields: Map<string, Buffer>
}

function addPin(pin: Pin, rule: Rule, { byQuestion, byFields }: PinMaps): string | undefined {
  const route = pin.route ?? 'chat'
  const named = (digest: string, model: string): string => JSON.stringify([route, digest, model, pin.tenant ?? null])
  if (pin.request) {
    const digest = digestOfRequest(pin.request, route, rule)
    if ('fault' in digest) return digest.fault
    byQuestion.set(named(digest.digest, ''), answerOf(pin, pin.request.model))
    return undefined
  }
  if (!rule.fields) return 'names fields, but input_hash_fields has none; give the request instead'
  const values = digestFromValues(rule, pin.fields ?? {})
  if ('missing' in values) return `gives no value for ${values.missing}`
  byFields.set(named(values.digest, pin.model ?? ''), answerOf(pin, pin.model ?? ''))
  return undefined
}

function digestOfRequest(request: object, route: CachedRoute, rule: Rule): { digest: string } | { fault: string } {
  const body = Buffer.from(JSON.stringify(request))
  const { signal } = new AbortController()
  const call = createCall({ id: 'pinned', route, now: 0, body, headers: {}, facts: {}, signal })
  try {
    const digest = questionDigest(rule, call)
    return digest
      ? { digest }
      : { fault: 'has no value for one of input_hash_fields; facts can only be given by fields' }
  } catch (reason) {
    if (reason instanceof GatewayError) return { fault: reason.message }
    throw reason
  }
}

/** The answer as JSON bytes; a bare text becomes a whole answer of its route. */
function answerOf({ response, route = 'chat' }: Pin, model: string): Buffer {
  if (typeof response !== 'string') return Buffer.from(JSON.stringify(response))
  const legacy = route === 'completions'
  const says = legacy ? { text: response } : { message: { role: 'assistant', content: response } }
  const completion: Completion = {
    id: 'pinned',
    object: legacy ? 'text_completion' : 'chat.completion',
    created: 0,
    model,
    choices: [{ index: 0, ...says, finish_reason: 'stop' }],
    usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 },
  }
  return Buffer.from(JSON.stringify(completion))
}

function readLines(file: string, { host, faults }: PinsInit): { pin: Pin; at: string }[] {
  const lines = host.file(file).toString('utf8').split('\n')
  return lines.flatMap((line, index): { pin: Pin; at: string }[] => {
    if (!line.trim()) return []
    const at = `importFile line ${index + 1}`
    const value = jsonOf(line)
    const wrong = value === undefined ? [{ path: '', message: 'is not JSON' }] : pinLine.faults(value)
    for (const { path, message } of wrong) faults.push({ path: path ? `${at}: ${path}` : at, message })
    return wrong.length > 0 ? [] : [{ pin: value as Pin, at }]
  })
}

function jsonOf(line: string): unknown {
  try {
    return jsonFromText(line)
  } catch {
    return undefined
  }
}
