import type { Body, Job } from './engine.ts'
import { invalid, objectField } from './fields.ts'
import { type Message, messagesFrom } from './messages.ts'
import { type Refusal, refusal } from './refusal.ts'

/** What an engine with a tokenizer starts from: a conversation, raw text, or tokens. */
export type Prompt =
  | { readonly kind: 'chat'; readonly messages: readonly Message[]; readonly template: TemplateInput }
  /** `plain` text never becomes structural tokens; else the caller wrote the whole prompt and may use them. */
  | { readonly kind: 'text'; readonly text: string; readonly plain?: true }
  | { readonly kind: 'tokens'; readonly tokens: readonly number[] }

/** What a chat template is rendered with beside the messages. */
export interface TemplateInput {
  /** Offered to the template; answers are not parsed back into tool calls. */
  readonly tools?: readonly unknown[]
  /** Whether the template opens the assistant's turn; default true. */
  readonly addGenerationPrompt: boolean
  /** Further variables, as other servers take them in `chat_template_kwargs`. */
  readonly variables: Body
}

const isTokens = (value: unknown): boolean =>
  Array.isArray(value) && value.length > 0 && value.every((token) => Number.isSafeInteger(token) && token >= 0)

/** The chat prompt of a body. Throws a refusal naming the member at fault. */
export function chatPromptFrom(body: Body): Prompt {
  const { tools, tool_choice, add_generation_prompt } = body
  if (tools !== undefined && tools !== null && !Array.isArray(tools)) throw invalid('tools', 'must be an array')
  const offered = Array.isArray(tools) && tools.length > 0 && tool_choice !== 'none'
  const template = {
    ...(offered ? { tools } : {}),
    addGenerationPrompt: add_generation_prompt !== false,
    variables: objectField(body, 'chat_template_kwargs') ?? {},
  }
  return { kind: 'chat', messages: messagesFrom(body), template }
}

function promptFrom(value: unknown, path: string): Prompt {
  if (typeof value === 'string') return { kind: 'text', text: value }
  if (isTokens(value)) return { kind: 'tokens', tokens: value as number[] }
  throw invalid(path, 'must be a string or an array of token ids')
}

/**
 * The prompts in a member that holds a string, several, token ids, or several lists of them (`prompt`, `input`).
 * `max` bounds how many. Throws a refusal naming the element at fault.
 */
export function promptsFrom(body: Body, name: string, max: number): readonly Prompt[] {
  const value = body[name]
  if (value === undefined || value === null) throw refusal('missing_parameter', `${name} is missing`, { param: name })
  if (!Array.isArray(value) || isTokens(value)) return [promptFrom(value, name)]
  if (value.length === 0 || value.length > max) throw invalid(name, `must have 1 to ${max} elements`)
  return value.map((element, index) => promptFrom(element, `${name}[${index}]`))
}

/** The prompts of a job: one for a chat, up to 16 for a completion. */
export function promptsFromJob(job: Job): readonly Prompt[] {
  return job.kind === 'chat' ? [chatPromptFrom(job.body)] : promptsFrom(job.body, 'prompt', 16)
}

/** The prompt of a `/tokenize` body: `messages` or `prompt`. */
export function tokenizePromptFrom(body: Body): Prompt {
  return 'messages' in body ? chatPromptFrom(body) : promptFrom(body['prompt'], 'prompt')
}

/** What `max_tokens` is when a job does not say: 16 for a raw completion, as in the OpenAI API, else no limit. */
export function defaultMaxTokens(job: Job): number {
  return job.kind === 'completion' ? 16 : Number.POSITIVE_INFINITY
}

/** The member a job's prompt stands in. */
export function promptParam(job: Job): string {
  return job.kind === 'chat' ? 'messages' : 'prompt'
}

/** The refusal for a prompt that leaves no room for an answer in a context of so many tokens. */
export function overflow(promptTokens: number, contextTokens: number, param: string): Refusal {
  const message = `this model's context is ${contextTokens} tokens, but ${param} has ${promptTokens}`
  return refusal('context_length_exceeded', message, { param })
}
