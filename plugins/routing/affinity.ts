import type { Call } from '../call.ts'
import { sha256 } from '../canonical.ts'
import { textOfMessage } from '../chat.ts'
import type { AffinityRule } from './config.ts'

/** Characters of the opening that are looked at, so that a huge prompt costs no more than a long one. */
const lookAtChars = 8192

/**
 * What names the conversation of a call, within its tenant: the conversation header, else its opening up to the first user message
 * when that is long enough to be worth keeping in a KV cache. Undefined when nothing does.
 */
export function conversationOf(call: Call, header: string, rule: AffinityRule): string | undefined {
  if (!rule.enabled || call.route === 'embeddings') return undefined
  const tenant = call.facts.principal?.tenant ?? ''
  const named = call.headers[header]
  if (named) return `${tenant}\n${named.length > 128 ? sha256(named) : named}`
  const opening = openingOf(call)
  if (opening.length < rule.minPrefixChars) return undefined
  return `${tenant}\n#${sha256(`${opening.length}\n${opening.slice(0, lookAtChars)}`)}`
}

function openingOf({ request }: Call): string {
  if (typeof request.prompt === 'string') return request.prompt
  let opening = ''
  for (const message of request.messages ?? []) {
    opening += `${message.role}\n${textOfMessage(message)}\n`
    if (message.role === 'user') break
  }
  return opening
}
