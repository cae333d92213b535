import type { ChatRequest } from '../chat.ts'
import { outputLimit } from '../chat.ts'
import { gatewayError } from '../errors.ts'
import {
  type ControlFamily,
  type Controllability,
  type ControlName,
  type ControlSet,
  controlNames,
} from './config-controllability.ts'
import { withInstructions } from './messages.ts'

/** What the names mean unless the configuration says otherwise. */
export const builtInSets: Readonly<Record<ControlName, ControlSet>> = {
  concise: { temperature: 0.3, top_p: 0.9, max_tokens: 320, instruction: 'Answer in at most 120 words.' },
  balanced: { temperature: 0.7, top_p: 0.95 },
  detailed: {
    temperature: 0.6,
    top_p: 0.95,
    max_tokens: 4096,
    instruction: 'Answer in detail, in at least 300 words where the subject has as much to say.',
  },
  creative: { temperature: 1, top_p: 0.98, presence_penalty: 0.4, frequency_penalty: 0.2 },
  professional: {
    temperature: 0.4,
    top_p: 0.9,
    instruction: 'Answer in a professional tone: precise, neutral, without slang or emoji, in at most 400 words.',
  },
}

const samplers = ['temperature', 'top_p', 'presence_penalty', 'frequency_penalty'] as const

/** Hosted models that refuse sampling numbers, or know the length under its newer name only. */
const builtInFamilies: readonly ControlFamily[] = [
  { match: ['claude'], omit: [...samplers], lengthMember: 'max_tokens', names: {} },
  { match: ['gpt-5', 'o1', 'o3', 'o4'], omit: [...samplers], lengthMember: 'max_completion_tokens', names: {} },
]
const anyFamily: ControlFamily = { match: [], omit: [], lengthMember: 'max_tokens', names: {} }

/** The name a call asks for, by member or header; undefined when by none. Throws `invalid_request` for a name that there is not. */
export function controlAsked(
  request: ChatRequest,
  headers: Readonly<Record<string, string>>,
  config: Controllability,
): ControlName | undefined {
  if (!config.enabled) return undefined
  const said = ownMember(request, config.member) ?? headers[config.header]
  if (said === undefined || said === null) return undefined
  if (typeof said === 'string' && (controlNames as readonly string[]).includes(said)) return said as ControlName
  const message = `${config.member} must be one of ${controlNames.join(', ')}`
  throw gatewayError('invalid_request', message, { field: config.member })
}

function ownMember(request: ChatRequest, member: string): unknown {
  return Object.hasOwn(request, member) ? request[member] : undefined
}

/** What a name means for a model: built in, then the configuration's, then the family's. */
export function controlSetFor(
  name: ControlName,
  model: string,
  config: Controllability,
): ControlSet & { readonly lengthMember: string } {
  const family = familyOf(model, config)
  const set: Record<string, unknown> = { ...builtInSets[name], ...config.names[name], ...family.names[name] }
  for (const parameter of family.omit) delete set[parameter]
  return { ...set, lengthMember: family.lengthMember }
}

function familyOf(model: string, { families }: Controllability): ControlFamily {
  const lower = model.toLowerCase()
  const isIn = ({ match }: ControlFamily): boolean => match.some((each) => lower.includes(each.toLowerCase()))
  return (
    families.find(isIn) ??
    builtInFamilies.find((each) => each.match.some((part) => startsName(lower, part))) ??
    anyFamily
  )
}

/** `o1` is a model of its own, also as `vendor/o1-mini`, but not a part of `foo1`. */
function startsName(model: string, part: string): boolean {
  const name = model.slice(model.lastIndexOf('/') + 1)
  return name.startsWith(part)
}

/** The request with what a name means; numbers that the caller gave stay, and the name itself does not leave. */
export function withControl(
  request: ChatRequest,
  name: ControlName,
  at: { model: string; config: Controllability },
): ChatRequest {
  const set = controlSetFor(name, at.model, at.config)
  const { [at.config.member]: _name, ...rest } = request
  const next: Record<string, unknown> = rest
  for (const parameter of samplers) {
    const value = set[parameter]
    if (typeof value === 'number') next[parameter] ??= value
  }
  if (typeof set.max_tokens === 'number' && outputLimit(request) === undefined) next[set.lengthMember] = set.max_tokens
  if (!set.instruction) return next as ChatRequest
  const placing = { position: 'after', role: 'system' } as const
  return { ...(next as ChatRequest), messages: withInstructions(request.messages ?? [], set.instruction, placing) }
}
