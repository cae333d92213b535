import { type Message, textOfMessage } from '../chat.ts'
import type { AnchorConfig } from './config-adaptations.ts'
import { aroundLastUser, isInstruction, leadingInstructions, type Messages, sayingText, withText } from './messages.ts'
import { sentencesOf, shortened } from './sentences.ts'

// What orders weighs most, what only describes least.
const signs: readonly (readonly [RegExp, number])[] = [
  [/\b(?:never|must(?: not)?|do not|don't|always|under no circumstances|forbidden|required)\b/i, 4],
  [/绝不|不得|必须|禁止|严禁|不要|务必|始终|总是/u, 4],
  [/\b(?:only|should(?: not)?|ensure|make sure|refuse|respond|answer|reply|use|avoid|keep)\b/i, 2],
  [/只能|只可|应当|应该|请|回答|使用|避免|确保|拒绝/u, 2],
  [/\byou are\b|\byour (?:role|task|job)\b|你是|您是|你的(?:角色|任务|职责)/iu, 3],
]

/** Long instructions as a few short lines, by rules: the sentences that order most, in their own order. Empty when there are none. */
export function anchorLines(instructions: string, { maxLines, maxLineChars }: AnchorConfig): string[] {
  const scored = sentencesOf(instructions).map((text, index) => ({ text, index, score: scoreOf(text) }))
  return scored
    .filter((each) => each.score > 0)
    .sort((a, b) => b.score - a.score || a.index - b.index)
    .slice(0, maxLines)
    .sort((a, b) => a.index - b.index)
    .map((each) => shortened(each.text, maxLineChars))
}

function scoreOf(sentence: string): number {
  return signs.reduce((sum, [sign, weight]) => sum + (sign.test(sentence) ? weight : 0), 0)
}

/** Messages whose long instructions are anchored by a few lines, before the instructions or before the last user message. */
export function withAnchor(messages: Messages, config: AnchorConfig): Messages {
  const instructions = messages.filter(isInstruction).map(textOfMessage).join('\n')
  if (!config.enabled || instructions.length < config.minChars) return messages
  const lines = anchorLines(instructions, config)
  if (lines.length === 0) return messages
  const text = lines.map((line) => `- ${line}`).join('\n')
  const rest = config.keep ? messages : withoutInstructions(messages, text)
  if (!config.keep && config.place === 'first') return rest
  if (config.place === 'last') return aroundLastUser(rest, { before: `Keep to this:\n${text}` })
  return leadingInstructions(rest) === 0 ? rest : rest.with(0, withText(rest[0] as Message, { before: text }))
}

/** Instructions replaced by their lines. */
function withoutInstructions(messages: Messages, text: string): Messages {
  const [first] = messages.filter(isInstruction)
  const others = messages.filter((each) => !isInstruction(each))
  return first ? [sayingText(first, text), ...others] : others
}
