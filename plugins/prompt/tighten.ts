import type { Directives } from '../directives.ts'
import { type GatewayError, gatewayError } from '../errors.ts'
import { createSchema, joinPath } from '../schema.ts'
import { type Asked, askedLimits } from './asked.ts'
import type { PromptRule } from './rule.ts'
import { compileTemplate } from './template.ts'
import { isTaken, openNames } from './unknown-names.ts'

const at = 'execution_context.system_prompt'

/** What a caller may say of the system prompt. `constraints` are about the answer and are no business of this layer. */
interface SystemPrompt extends Asked {
  readonly enable_determinism?: true
  readonly constraints?: unknown
}

const shape = createSchema<SystemPrompt>({
  type: 'object',
  additionalProperties: false,
  properties: {
    template: { type: 'string', minLength: 1, maxLength: askedLimits.template },
    variables: {
      type: 'object',
      maxProperties: askedLimits.variables,
      propertyNames: { pattern: '^[A-Za-z_][A-Za-z0-9_-]{0,63}$' },
      additionalProperties: { type: ['string', 'number', 'boolean'], maxLength: askedLimits.value },
    },
    version: { type: 'string', minLength: 1, maxLength: 256 },
    // Clocks may be rounded, never let loose.
    enable_determinism: { const: true },
    constraints: {},
  },
})

/**
 * The rule with what a caller's directives ask of it. The operator's texts stay as they are: a caller fills names they leave open, names a
 * configured version, rounds clocks, and, where it may, adds system text of its own after them. Throws `invalid_request` naming the member.
 */
export function tightenPrompt(step: PromptRule, { system_prompt: given }: Directives): PromptRule {
  if (given === undefined) return step
  const [fault] = shape.faults(given)
  if (fault) throw invalid(fault.path, fault.message)
  const { template, variables, version, enable_determinism } = given as SystemPrompt
  if (version !== undefined) checkVersion(step, version)
  const own = template === undefined ? new Set<string>() : namesOfTemplate(step, template)
  if (variables) checkVariables(step, variables, own)
  const rounds = enable_determinism === true && !step.enable_determinism
  const asked: Asked = {
    ...(template !== undefined && { template }),
    ...(variables && Object.keys(variables).length > 0 && { variables }),
    ...(version !== undefined && { version }),
  }
  if (Object.keys(asked).length === 0) return rounds ? { ...step, enable_determinism: true } : step
  return { ...step, enable_determinism: step.enable_determinism || rounds, asked }
}

function checkVersion({ templates }: PromptRule, version: string): void {
  if (Object.values(templates).some(({ texts }) => Object.hasOwn(texts, version))) return
  throw invalid('version', `no template has a version "${version}"`)
}

function namesOfTemplate({ inlineTemplate }: PromptRule, template: string): ReadonlySet<string> {
  if (inlineTemplate !== true) throw invalid('template', 'system text of a caller is not allowed here')
  try {
    return new Set(compileTemplate(template).names)
  } catch (cause) {
    throw invalid('template', (cause as GatewayError).message)
  }
}

function checkVariables(step: PromptRule, variables: object, own: ReadonlySet<string>): void {
  const open = openNames(step)
  for (const name of Object.keys(variables)) {
    const path = joinPath('variables', name)
    if (isTaken(step, name)) throw invalid(path, 'has a value already, which no caller changes')
    if (!open.has(name) && !own.has(name)) throw invalid(path, 'no template leaves this name open')
  }
}

function invalid(path: string, message: string): GatewayError {
  const field = path ? `${at}.${path}` : at
  return gatewayError('invalid_request', `${field}: ${message}`, { field })
}
