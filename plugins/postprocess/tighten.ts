import { clientSchema } from '../client-schema.ts'
import type { Directives } from '../directives.ts'
import { type GatewayError, gatewayError, gatewayErrorFrom } from '../errors.ts'
import { createSchema, joinPath } from '../schema.ts'
import { type Asked, askedLimits, isLooser } from './asked.ts'
import { askedPaths } from './compile.ts'
import type { Rules } from './rules.ts'
import { askedShapes, type PostprocessStep } from './step.ts'
import { type Variant, variantsOf } from './variants.ts'

type Told = Pick<
  Asked,
  'required_phrases' | 'forbidden_phrases' | 'min_output_length' | 'safety' | 'custom_safety_rules'
>
interface Wishes extends Told {
  readonly json_schema?: object
  readonly post_processing_hooks?: readonly { readonly function: string }[]
}

const {
  schema: json_schema,
  required_phrases,
  forbidden_phrases,
  min_output_length,
  safety,
  custom_safety_rules,
} = askedShapes
const object = (properties: object): object => ({ type: 'object', additionalProperties: false, properties })
const hook = { ...object({ function: { type: 'string', maxLength: 64 } }), required: ['function'] }
// What stands where in the directives; the rest of them is for other layers.
const shape = createSchema({
  type: 'object',
  properties: {
    output_constraints: object({ json_schema }),
    system_prompt: {
      type: 'object',
      properties: { constraints: object({ required_phrases, forbidden_phrases, min_output_length }) },
    },
    safety,
    custom_safety_rules,
    post_processing_hooks: { type: 'array', maxItems: askedLimits.hooks, items: hook },
  },
})

/** The hook that a caller may name: answers with a low score are reviewed, where the operator has set that up. */
const reviewHook = 'review_by_human_if_uncertain'

/**
 * The step with what a caller's directives ask of answers, which holds beside everything of the operator's. Throws `invalid_request` naming
 * the directive: of the wrong kind, too many, looser than the operator's rules, or naming what those do not know.
 */
export function tightenPostprocess(step: PostprocessStep, directives: Directives): PostprocessStep {
  const wishes = wishesOf(directives)
  if (Object.keys(wishes).length === 0) return step
  const { declared: _declared, asked: _asked, ...config } = step
  const variants = variantsOf(config)
  const { json_schema: schema, post_processing_hooks: hooks = [], ...told } = wishes
  if (schema) checkSchema(schema)
  checkLength(told.min_output_length, variants)
  checkSafety(told.safety ?? [], variants)
  checkRules(told.custom_safety_rules ?? [], variants)
  for (const [i, { function: name }] of hooks.entries())
    checkHook(name, `post_processing_hooks[${i}].function`, variants)
  const asked: Asked = { ...told, ...(schema && { schema }) }
  return Object.keys(asked).length === 0 ? step : { ...step, asked }
}

/** What is asked of this layer, without what asks for nothing. */
function wishesOf(directives: Directives): Wishes {
  const [fault] = shape.faults(directives)
  if (fault) throw invalid(fault.path, fault.message)
  const { output_constraints: output, system_prompt: prompt } = directives
  const constraints = prompt?.['constraints'] as Wishes | undefined
  const { safety, custom_safety_rules, post_processing_hooks } = directives
  const all: Record<string, unknown> = {
    ...output,
    ...constraints,
    safety,
    custom_safety_rules,
    post_processing_hooks,
  }
  const asks = ([, value]: [string, unknown]): boolean =>
    value !== undefined && value !== 0 && !(Array.isArray(value) && value.length === 0)
  return Object.fromEntries(Object.entries(all).filter(asks))
}

function checkSchema(schema: object): void {
  const path = askedPaths.schema
  try {
    const { length } = JSON.stringify(schema)
    if (length > askedLimits.schema) throw refusal(path, `is longer than ${askedLimits.schema} characters`)
    clientSchema(schema, path)
  } catch (cause) {
    const { message, detail } = gatewayErrorFrom(cause)
    throw gatewayError('invalid_request', message, { field: detail.field ?? path, cause })
  }
}

function checkLength(length: number | undefined, variants: readonly Variant[]): void {
  const least = Math.min(...variants.map(({ rules }) => rules.min_output_length))
  if (length === undefined || length >= least) return
  throw invalid('system_prompt.constraints.min_output_length', `may only be raised: it is ${least}`)
}

function checkSafety(asked: Rules['safety'], variants: readonly Variant[]): void {
  for (const [i, { category, threshold }] of asked.entries()) {
    const decided = variants.filter(({ rules }) => rules.moderation || Object.hasOwn(rules.safetyTerms, category))
    if (decided.length === 0) throw invalid(`safety[${i}].category`, 'nothing here decides it')
    const loosens = ({ rules }: Variant): boolean =>
      rules.safety.some((rule) => rule.category === category && isLooser(threshold, rule.threshold))
    if (decided.every(loosens)) throw invalid(`safety[${i}].threshold`, 'may only be stricter')
  }
}

function checkRules(asked: Rules['custom_safety_rules'], variants: readonly Variant[]): void {
  const known = new Set(variants.flatMap(({ rules }) => rules.custom_safety_rules.map(({ id }) => id)))
  for (const [i, { id }] of asked.entries()) {
    if (known.has(id)) throw invalid(`custom_safety_rules[${i}].id`, 'is the name of a rule of the operator')
  }
}

function checkHook(name: string, path: string, variants: readonly Variant[]): void {
  const allowed = name === reviewHook && variants.some(({ rules }) => rules.review !== null)
  if (!allowed) throw invalid(path, 'names no hook that is allowed here')
}

function invalid(path: string, message: string): GatewayError {
  return refusal(joinPath('execution_context', path), message)
}

function refusal(field: string, message: string): GatewayError {
  return gatewayError('invalid_request', `${field}: ${message}`, { field })
}
