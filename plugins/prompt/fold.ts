import type { FoldSource } from '../host.ts'
import type { PromptConfig } from './config.ts'
import type { PromptRule } from './rule.ts'
import { ruleFromConfig } from './rule-from-config.ts'

declare module '../host.ts' {
  interface FoldSource {
    /** Whether a caller's directives may bring system text of their own (`directives.inlineTemplate`); absent: no. */
    readonly inlineTemplate?: boolean
  }
}

/** The settings as a step: every template's text in it. Throws `config_invalid` with every fault. */
export function foldPrompt(config: PromptConfig, source: FoldSource): PromptRule {
  return { ...ruleFromConfig(config, source), inlineTemplate: source.inlineTemplate === true }
}
