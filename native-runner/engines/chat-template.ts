import type { Prompt } from '../prompts.ts'
import { refusal } from '../refusal.ts'
import type { Jinja, Model } from './native.ts'
import { createStructural } from './structural.ts'

/** ChatML: what a model without a template of its own is spoken to in. */
const plainTemplate =
  "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}" +
  "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"

/** Turns prompts into tokens the way a model was trained to read them. */
export interface Prompter {
  readonly vocabularySize: number
  readonly tokenChars: number
  /**
   * The tokens of a prompt. In chats only the template makes structural tokens, never a user's text, whatever it says; a raw
   * text is its caller's own and may. Throws `invalid_value` where the template refuses the messages.
   */
  tokens(prompt: Prompt): number[]
}

/** The prompter of a loaded model. Throws when its template cannot be parsed. */
export function createPrompter(model: Model, jinja: Jinja): Prompter {
  const source = model.fileInfo.metadata.tokenizer?.chat_template ?? plainTemplate
  const template = new jinja.Template(source)
  const structural = createStructural(model, source)
  const { bos, bosString, eosString, shouldPrependBosToken } = model.tokens

  const rendered = (prompt: Prompt & { kind: 'chat' }): string => {
    const { tools, addGenerationPrompt, variables } = structural.broken(prompt.template)
    const messages = structural.broken(prompt.messages)
    const fixed = { messages, tools: tools ?? null, add_generation_prompt: addGenerationPrompt }
    try {
      return template.render({ ...variables, ...fixed, bos_token: bosString ?? '', eos_token: eosString ?? '' })
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error)
      throw refusal('invalid_value', `the model's chat template refused the messages: ${why}`, { param: 'messages' })
    }
  }
  const chatTokens = (prompt: Prompt & { kind: 'chat' }): number[] =>
    structural.parts(rendered(prompt)).flatMap((part) => {
      if ('token' in part) return [part.token]
      return part.flatMap((text, at) => model.tokenize(text, false, at > 0 ? 'trimLeadingSpace' : undefined))
    })
  const begun = (tokens: number[]): number[] =>
    shouldPrependBosToken && bos !== null && tokens[0] !== bos ? [bos, ...tokens] : tokens
  return {
    vocabularySize: structural.size,
    tokenChars: structural.longest,
    tokens(prompt) {
      if (prompt.kind === 'tokens') return [...prompt.tokens]
      if (prompt.kind === 'chat') return begun(chatTokens(prompt))
      return prompt.plain ? model.tokenize(prompt.text, false) : begun(model.tokenize(prompt.text, true))
    },
  }
}
