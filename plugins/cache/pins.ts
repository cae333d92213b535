import { type Call, createCall } from '../call.ts'
import type { Completion } from '../chunks.ts'
import { type Fault, GatewayError } from '../errors.ts'
import type { CachedRoute, Pin } from './pin.ts'
import { digestFromValues, fieldsDigest, questionDigest, type Rule } from './rule.ts'
import type { CacheStep } from './step.ts'

/** Curated answers, found by what is asked. */
export interface Pins {
  /** The JSON bytes of the answer, if there is one for this call. `question` is the call's, where it has one. */
  find(call: Call, question: string | undefined): Buffer | undefined
  readonly size: number
}

/** The step a {@link Pins} was made of: what it hangs on besides the answers themselves. */
type PinnedStep = Pick<CacheStep, 'pins' | 'input_hash_fields' | 'preprocess_hooks' | 'hooks'>

const made = new WeakMap<readonly Pin[], { readonly of: PinnedStep; readonly pins: Pins }>()

/**
 * Makes ready the curated answers of a step; what is wrong with them is added to `faults`. They are found by the operator's fields alone:
 * a step that directives have tightened has those of the step it was made from.
 */
export function pinsFromStep(step: PinnedStep, rule: Rule, { places, faults }: PinsInit): Pins {
  const known = made.get(step.pins)
  if (known && isSameRule(known.of, step)) return known.pins
  const before = faults.length
  const pins = createPins(step.pins, rule, { places, faults })
  if (faults.length === before) made.set(step.pins, { of: step, pins })
  return pins
}

function isSameRule(a: PinnedStep, b: PinnedStep): boolean {
  return a.input_hash_fields === b.input_hash_fields && a.preprocess_hooks === b.preprocess_hooks && a.hooks === b.hooks
}

function createPins(pins: readonly Pin[], rule: Rule, { places, faults }: PinsInit): Pins {
  const byQuestion = new Map<string, Buffer>()
  const byFields = new Map<string, Buffer>()
  for (const [index, pin] of pins.entries()) {
    const fault = addPin(pin, rule, { byQuestion, byFields })
    if (fault) faults.push({ path: places[index] ?? `pins[${index}]`, message: fault })
  }
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

/** Where the curated answers came from, and where to say what is wrong. */
export interface PinsInit {
  /** By place in the step; what has none is named as `pins[n]`. */
  readonly places: readonly string[]
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
