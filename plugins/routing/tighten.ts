import type { Directives } from '../directives.ts'
import { type GatewayError, gatewayError } from '../errors.ts'
import { createSchema, type JsonSchema, joinPath } from '../schema.ts'
import type { TargetRule } from './config.ts'
import type { RoutingStep } from './step.ts'

/** What a caller asks of one model. */
interface Ask {
  readonly weight?: number
  readonly min_tokens?: number
  readonly max_input_length?: number
}

const weight: JsonSchema = { type: 'number', minimum: 0, maximum: 1e9 }
const asks = createSchema<number | Ask>({
  type: ['number', 'object'],
  minimum: 0,
  maximum: 1e9,
  minProperties: 1,
  additionalProperties: false,
  properties: {
    weight,
    min_tokens: { type: 'integer', minimum: 0 },
    max_input_length: { type: 'integer', minimum: 1 },
  },
})

/**
 * The step under `execution_context.routing`: weights among the models that the operator gives (names of targets or aliases; whoever is not
 * named gets none), a higher `min_tokens`, a lower `max_input_length`. A target that the operator gives no weight stays out. Throws
 * `invalid_request` with the path of what is wrong, unknown, or would loosen.
 */
export function tighten(step: RoutingStep, { routing }: Pick<Directives, 'routing'>): RoutingStep {
  const named = Object.entries(routing ?? {})
  if (named.length === 0) return step
  const read = named.map(([name, value]) => askedOf(step, name, value))
  const byPlace = new Map<number, Asked>()
  for (const each of read) {
    for (const { index } of each.places) {
      if (byPlace.has(index)) throw wrong(each.at, `names targets[${index}] a second time`)
      byPlace.set(index, each)
    }
  }
  const weighed = read.some(({ ask }) => ask.weight !== undefined)
  if (weighed) checkWeights(read)
  const targets = step.targets.map((target, index): TargetRule => {
    const asked = byPlace.get(index)
    const limited = asked ? limitedBy(target, asked) : target
    return weighed ? { ...limited, asked: asked ? shareOf(target, asked) : 0 } : limited
  })
  return { ...step, targets }
}

/** One entry, and the targets that it names. */
interface Asked {
  /** Path of the directive. */
  readonly at: string
  readonly ask: Ask
  readonly places: readonly { readonly index: number; readonly target: TargetRule }[]
}

function askedOf({ targets }: RoutingStep, name: string, value: unknown): Asked {
  const at = joinPath('execution_context.routing', name)
  const [fault] = asks.faults(value)
  if (fault) throw wrong(fault.path ? joinPath(at, fault.path) : at, fault.message)
  const places = targets
    .map((target, index) => ({ index, target }))
    .filter(({ target }) => target.model === name || target.aliases.includes(name))
  if (places.length === 0) throw wrong(at, 'is not one of the models')
  return { at, ask: typeof value === 'number' ? { weight: value } : (value as Ask), places }
}

function checkWeights(read: readonly Asked[]): void {
  const without = read.find(({ ask }) => ask.weight === undefined)
  if (without) throw wrong(without.at, 'needs a weight, since others have one')
  if (read.every(({ ask }) => ask.weight === 0))
    throw wrong('execution_context.routing', 'at least one weight must be above 0')
}

/** Targets behind one alias share its weight as they do without directives. */
function shareOf(target: TargetRule, { ask, places }: Asked): number {
  const asked = ask.weight ?? 0
  const sum = places.reduce((so, each) => so + each.target.weight, 0)
  return sum > 0 ? asked * (target.weight / sum) : asked / places.length
}

function limitedBy(target: TargetRule, { ask, at }: Asked): TargetRule {
  const { min_tokens = target.min_tokens, max_input_length = target.max_input_length } = ask
  if (min_tokens < target.min_tokens) throw wrong(`${at}.min_tokens`, `must be at least ${target.min_tokens}`)
  if (target.max_input_length !== null && (max_input_length ?? Infinity) > target.max_input_length)
    throw wrong(`${at}.max_input_length`, `must be at most ${target.max_input_length}`)
  return { ...target, min_tokens, max_input_length }
}

function wrong(field: string, message: string): GatewayError {
  return gatewayError('invalid_request', `${field}: ${message}`, { field })
}
