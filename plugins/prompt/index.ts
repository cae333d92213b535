import { defineLayer } from '../layer.ts'
import type { ContextFact } from './acting.ts'
import { type PromptConfig, promptConfig } from './config.ts'
import { foldPrompt } from './fold.ts'
import { openPrompt } from './gateway.ts'
import { promptNative } from './native.ts'
import type { PromptRule, TemplateFact } from './rule.ts'
import { tightenPrompt } from './tighten.ts'

declare module '../call.ts' {
  interface Facts {
    /** The template that was rendered; absent when there was none. Written by prompt. */
    template: TemplateFact
    /** What was left out so that the conversation fits; absent when it fitted. Written by prompt. */
    context: ContextFact
  }
}

export { promptRuleFor } from './rule-for.ts'
export { ruleFromConfig } from './rule-from-config.ts'

/** What the model is told first: templates, decorators, adaptations, and what of a conversation fits its context. */
export const prompt = defineLayer<'prompt', PromptConfig, PromptRule>({
  name: 'prompt',
  reads: ['principal', 'target'],
  writes: ['template', 'context'],
  answers: false,
  rewrites: true,
  meters: false,
  routes: ['chat', 'messages'],
  config: promptConfig,
  open: openPrompt,
  fold: foldPrompt,
  tighten: tightenPrompt,
  native: promptNative,
})
