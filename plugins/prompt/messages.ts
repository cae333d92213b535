import { type ContentPart, type Message, textOfMessage } from '../chat.ts'

/** Messages of a conversation. None is ever changed in place. */
export type Messages = readonly Message[]

/** The message tells the model what to do, on the operator's or the application's behalf. */
export function isInstruction({ role }: Message): boolean {
  return role === 'system' || role === 'developer'
}

/** A message with text before and after what it says. Content parts stay what they are, with a text part beside them. */
export function withText(message: Message, around: { before?: string; after?: string }): Message {
  const { content } = message
  const { before, after } = around
  if (Array.isArray(content)) {
    const parts: ContentPart[] = [...(content as readonly ContentPart[])]
    if (before) parts.unshift({ type: 'text', text: `${before}\n\n` })
    if (after) parts.push({ type: 'text', text: `\n\n${after}` })
    return { ...message, content: parts }
  }
  return { ...message, content: [before, content, after].filter(Boolean).join('\n\n') }
}

/** A message that says another text; parts that are no text stay. */
export function sayingText(message: Message, text: string): Message {
  const { content } = message
  if (!Array.isArray(content)) return { ...message, content: text }
  const others = (content as readonly ContentPart[]).filter((part) => part.type !== 'text')
  return { ...message, content: [{ type: 'text', text }, ...others] }
}

/** Where instructions are added to those that are there. */
export interface Placing {
  readonly position: 'before' | 'after' | 'replace'
  /** Role of a message that must be made, since there are no instructions yet. */
  readonly role: 'system' | 'developer'
}

/** Messages with more instructions, merged into the leading ones, since many chat templates accept one such message only. */
export function withInstructions(messages: Messages, text: string, { position, role }: Placing): Messages {
  if (text === '') return messages
  if (position === 'replace') {
    return [{ role, content: text }, ...messages.filter((each) => !isInstruction(each))]
  }
  const leading = leadingInstructions(messages)
  if (leading === 0) return [{ role, content: text }, ...messages]
  const at = position === 'before' ? 0 : leading - 1
  const around = position === 'before' ? { before: text } : { after: text }
  return messages.with(at, withText(messages[at] as Message, around))
}

/** How many messages at the beginning are instructions. */
export function leadingInstructions(messages: Messages): number {
  const first = messages.findIndex((each) => !isInstruction(each))
  return first === -1 ? messages.length : first
}

/** Messages with text around the last user message; the same when there is none. */
export function aroundLastUser(messages: Messages, around: { before?: string; after?: string }): Messages {
  const at = messages.findLastIndex(({ role }) => role === 'user')
  return at === -1 ? messages : messages.with(at, withText(messages[at] as Message, around))
}

/** What the last user message says; empty when there is none. */
export function lastUserText(messages: Messages): string {
  const last = messages.findLast(({ role }) => role === 'user')
  return last ? textOfMessage(last) : ''
}
