import { type Message, textOfMessage } from '../chat.ts'
import type { RecapConfig } from './config-adaptations.ts'
import { aroundLastUser, type Messages } from './messages.ts'
import { sentencesOf, shortened } from './sentences.ts'

const signs: readonly (readonly [RegExp, number])[] = [
  [/\d/, 2],
  [/\b(?:my|our) [\w ]{1,40}\b(?:is|are|was)\b|\bI(?:'m| am| have| live| work| need| want| prefer| use)\b/i, 3],
  [/我叫|我是|我的|我们的|我有|我住|我想要|我需要|我喜欢|我用/u, 3],
  [/\b(?:name|order|number|date|budget|deadline|address|address|version|allerg\w*)\b/i, 1],
  [/名字|订单|编号|日期|预算|截止|地址|版本|过敏/u, 1],
]

/** Facts that the last turns stated, latest first: what users say of themselves weighs more than what was answered. */
export function recapFacts(messages: Messages, { turns, maxFacts, maxFactChars }: RecapConfig): string[] {
  const found: { text: string; score: number }[] = []
  for (const message of lastTurns(messages, turns).toReversed()) {
    const weight = message.role === 'user' ? 2 : 1
    for (const text of sentencesOf(textOfMessage(message))) {
      const score = /[?？]$/u.test(text) ? 0 : scoreOf(text) * weight
      if (score > 0 && !found.some((each) => each.text === text)) found.push({ text, score })
    }
  }
  // Sorting is stable: among equals the latest stays first.
  return found
    .sort((a, b) => b.score - a.score)
    .slice(0, maxFacts)
    .map((each) => shortened(each.text, maxFactChars))
}

function scoreOf(sentence: string): number {
  return signs.reduce((sum, [sign, weight]) => sum + (sign.test(sentence) ? weight : 0), 0)
}

/** What users and assistants said in the turns before the last user message. */
function lastTurns(messages: Messages, turns: number): Message[] {
  const last = messages.findLastIndex(({ role }) => role === 'user')
  let left = turns
  let from = last
  while (from > 0 && left > 0) {
    from--
    if (messages[from]?.role === 'user') left--
  }
  return messages.slice(from, last).filter(({ role }) => role === 'user' || role === 'assistant')
}

/** Messages with the facts of the last turns repeated before the last user message. */
export function withRecap(messages: Messages, config: RecapConfig): Messages {
  if (!config.enabled) return messages
  const facts = recapFacts(messages, config)
  if (facts.length === 0) return messages
  return aroundLastUser(messages, { before: `Said before:\n${facts.map((fact) => `- ${fact}`).join('\n')}` })
}
