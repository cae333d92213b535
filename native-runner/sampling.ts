import type { Body } from './engine.ts'
import { invalid, numberField, objectField } from './fields.ts'
import { refusal } from './refusal.ts'

/** How tokens are drawn, checked. Absent members are the engine's to choose. */
export interface Sampling {
  /** Choices a prompt, 1 to 16; default 1. */
  readonly n: number
  /** Most tokens an answer may have; absent: what the context leaves. */
  readonly maxTokens?: number
  readonly temperature?: number
  readonly topP?: number
  readonly topK?: number
  readonly minP?: number
  readonly seed?: number
  readonly frequencyPenalty?: number
  readonly presencePenalty?: number
  /** Token id → logit offset, −100 to 100. */
  readonly bias: readonly (readonly [token: number, logit: number])[]
  /** At most 16 strings of 1 to 256 characters. */
  readonly stop: readonly string[]
}

const seeds = { min: Number.MIN_SAFE_INTEGER, max: Number.MAX_SAFE_INTEGER, integer: true } as const
const unit = { min: 0, max: 1 } as const
const penalty = { min: -2, max: 2 } as const

function stopFrom(body: Body): string[] {
  const value = body['stop']
  if (value === undefined || value === null) return []
  const list: unknown[] = Array.isArray(value) ? value : [value]
  if (list.length > 16) throw invalid('stop', 'must have at most 16 strings')
  return list.map((stop, index) => {
    const path = Array.isArray(value) ? `stop[${index}]` : 'stop'
    if (typeof stop !== 'string' || stop.length === 0 || stop.length > 256)
      throw invalid(path, 'must be a string of 1 to 256 characters')
    return stop
  })
}

function biasFrom(body: Body): [number, number][] {
  const entries = Object.entries(objectField(body, 'logit_bias') ?? {})
  if (entries.length > 1024) throw invalid('logit_bias', 'must have at most 1024 members')
  return entries.map(([token, logit]) => {
    if (!/^\d{1,9}$/.test(token)) throw invalid(`logit_bias.${token}`, 'must be keyed by a token id')
    if (typeof logit !== 'number' || !(Math.abs(logit) <= 100))
      throw invalid(`logit_bias.${token}`, 'must be a number from -100 to 100')
    return [Number(token), logit]
  })
}

function refuseUnsupported(body: Body): void {
  const named = (param: string, what: string) =>
    refusal('unsupported_parameter', `${param} is not supported by this engine: ${what}`, { param })
  const { logprobs, top_logprobs, best_of, echo, suffix, response_format, tool_choice, functions, modalities } = body
  if ((logprobs ?? false) !== false) throw named('logprobs', 'it reports no probabilities')
  if ((top_logprobs ?? 0) !== 0) throw named('top_logprobs', 'it reports no probabilities')
  if ((best_of ?? 1) !== 1 && best_of !== body['n']) throw named('best_of', 'ask for n choices instead')
  if ((echo ?? false) !== false) throw named('echo', 'the prompt is not sent back')
  if ((suffix ?? '') !== '') throw named('suffix', 'it cannot fill in the middle')
  const format = objectField(body, 'response_format')
  if (response_format && format?.['type'] !== 'text') throw named('response_format', 'only {"type":"text"} is enforced')
  if (tool_choice !== undefined && tool_choice !== null && tool_choice !== 'auto' && tool_choice !== 'none')
    throw named('tool_choice', 'only "auto" and "none" can be kept')
  if (functions !== undefined && functions !== null) throw named('functions', 'use tools instead')
  if (Array.isArray(modalities) && modalities.some((kind) => kind !== 'text'))
    throw named('modalities', 'it writes text only')
}

/**
 * The sampling a body asks for. Throws a refusal naming the member: `invalid_value` out of range,
 * `unsupported_parameter` for what would be silently ignored otherwise (logprobs, schemas, forced tools).
 */
export function samplingFrom(body: Body): Sampling {
  refuseUnsupported(body)
  const tokens = { min: 1, max: 10_000_000, integer: true } as const
  const optional = {
    maxTokens: numberField(body, 'max_completion_tokens', tokens) ?? numberField(body, 'max_tokens', tokens),
    temperature: numberField(body, 'temperature', { min: 0, max: 2 }),
    topP: numberField(body, 'top_p', unit),
    topK: numberField(body, 'top_k', { min: -1, max: 1_000_000, integer: true }),
    minP: numberField(body, 'min_p', unit),
    seed: numberField(body, 'seed', seeds),
    frequencyPenalty: numberField(body, 'frequency_penalty', penalty),
    presencePenalty: numberField(body, 'presence_penalty', penalty),
  }
  const given = Object.fromEntries(Object.entries(optional).filter(([, value]) => value !== undefined))
  const n = numberField(body, 'n', { min: 1, max: 16, integer: true }) ?? 1
  return { ...given, n, bias: biasFrom(body), stop: stopFrom(body) }
}
