import type { Call } from '../call.ts'
import type { Message } from '../chat.ts'
import type { Completion } from '../chunks.ts'
import { textOfChoice } from './examine.ts'

/** How much of the answer that failed the model is shown again, in UTF-16 code units. */
const mostShown = 16_384

/**
 * The call with what was wrong with its answer, so that the next one may be right: the answer and a request for another are added to the
 * conversation. A legacy completion has no conversation and is asked as it was.
 */
export function hintedCall(call: Call, completion: Completion, faults: readonly string[]): Call {
  const { request } = call
  if (!request.messages) return call
  const said = completion.choices?.[0] && textOfChoice(completion.choices[0])
  const answer: Message[] = said ? [{ role: 'assistant', content: said.slice(0, mostShown).toWellFormed() }] : []
  const hint = `Your answer cannot be used: ${faults.slice(0, 5).join('; ')}. Answer again, and mend this. Reply with the answer only.`
  return call.with({}, { ...request, messages: [...request.messages, ...answer, { role: 'user', content: hint }] })
}
