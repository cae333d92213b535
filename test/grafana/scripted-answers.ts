import { setTimeout as later } from 'node:timers/promises'
import { chatChunk, completionBody, DONE, dataEvent, sseHead } from '../support/chat-replies.ts'
import type { Exchange } from '../support/exchange.ts'
import { json, type Reply } from '../support/reply.ts'

/** The longest that the gateway waits for the first byte of this runner, in milliseconds. */
export const patienceMs = 120
// Time-outs of connections are looked at twice a second only.
const longerMs = patienceMs + 1_200

const usage = (cached: number) => ({
  prompt_tokens: 40,
  completion_tokens: 10,
  total_tokens: 50,
  prompt_tokens_details: { cached_tokens: cached },
})
const call = { index: 0, id: 'call_1', type: 'function', function: { name: 'look', arguments: '{}' } }

/** What a scripted runner answers, by words in the question: break, wait, tool, slow tool; streams where they are asked for. */
export async function scriptedAnswer({ body, path }: Exchange): Promise<Reply> {
  const asked = String(body)
  if (path.endsWith('/models')) return json({ object: 'list', data: [{ id: 'scripted', object: 'model' }] })
  if (asked.includes('break')) return json({ error: { message: 'broken' } }, 500)
  if (asked.includes('wait')) await later(longerMs)
  if (!asked.includes('"stream":true')) return json(completionBody('an answer', { usage: usage(30) }))
  const begun = sseHead().send(dataEvent(chatChunk({ role: 'assistant', content: 'well' })))
  const ended = [chatChunk({ finish: 'stop' }), chatChunk({ choice: null, usage: usage(0) })].map(dataEvent)
  if (!asked.includes('tool')) return begun.send(...ended, DONE)
  const called = dataEvent(chatChunk({ toolCalls: [call] }))
  return begun.delay(asked.includes('slow tool') ? 60 : 2).send(called, ...ended, DONE)
}
