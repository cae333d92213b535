import type { Host } from '../host.ts'
import type { Acting } from '../layer.ts'
import { promptActing } from './acting.ts'
import type { PromptConfig } from './config.ts'
import type { PromptRule } from './rule.ts'
import { ruleFromConfig } from './rule-from-config.ts'
import { unknownNames } from './unknown-names.ts'

/** The gateway half. Throws `config_invalid` with every fault across fields. */
export function openPrompt(config: PromptConfig, host: Host): Acting {
  const rule = ruleFromConfig(config, host)
  warnOfNames(rule, host)
  return promptActing(rule, host)
}

/** A name that nothing configured can fill may still be a claim; more often it is a slip that makes every call fail. */
function warnOfNames(rule: PromptRule, host: Host): void {
  const names = unknownNames(rule)
  if (names.length > 0) host.log.warn({ names }, 'templates mention names that are no variable, fact or declared claim')
}
