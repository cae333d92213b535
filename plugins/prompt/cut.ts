import { type Message, textOfMessage } from '../chat.ts'
import type { Count } from './fit.ts'
import { isInstruction, type Messages, sayingText } from './messages.ts'

/** Tokens that a message keeps at least. */
const leastTokens = 32
/** What stands where text was cut out. */
const gap = '\n[…]\n'

/** Messages cut so that they are shorter by `over` tokens, longest first, instructions never; undefined when that is not possible. */
export function cutMessages(
  messages: Messages,
  { over, count }: { over: number; count: Count },
): { messages: Messages; cut: number } | undefined {
  const longest = messages
    .map((message, index) => ({ message, index, tokens: isInstruction(message) ? 0 : count(textOfMessage(message)) }))
    .filter((each) => each.tokens > leastTokens)
    .sort((a, b) => b.tokens - a.tokens)
  let out = messages
  let left = over
  let cut = 0
  for (const { message, index, tokens } of longest) {
    if (left <= 0) break
    const shorter = cutTo(message, Math.max(leastTokens, tokens - left), count)
    left -= tokens - count(textOfMessage(shorter))
    out = out.with(index, shorter)
    cut++
  }
  return left > 0 ? undefined : { messages: out, cut }
}

/** A message of at most so many tokens: its beginning and its end, by bisection over what is kept. */
function cutTo(message: Message, tokens: number, count: Count): Message {
  const characters = [...textOfMessage(message)]
  let fits = 0
  let fails = characters.length
  let text = ''
  while (fails - fits > 1) {
    const keep = (fits + fails) >> 1
    const half = keep >> 1
    const attempt =
      characters.slice(0, keep - half).join('') + gap + characters.slice(characters.length - half).join('')
    if (count(attempt) <= tokens) {
      fits = keep
      text = attempt
    } else fails = keep
  }
  return sayingText(message, text)
}
