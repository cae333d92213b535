import { isInstruction, type Messages } from './messages.ts'

/** The messages of one turn, by their places: what a user said and all that answered it. */
export type Turn = readonly number[]

/**
 * A conversation in turns, oldest first; instructions belong to none. A tool's result is always in the turn of its call, also where
 * somebody spoke in between.
 */
export function turnsOf(messages: Messages): readonly Turn[] {
  const turns: number[][] = []
  const callers = new Map<string, number>()
  for (const [index, message] of messages.entries()) {
    if (isInstruction(message)) continue
    if (message.role === 'user' || turns.length === 0) turns.push([])
    if (message.role === 'tool' && message.tool_call_id !== undefined)
      joinTurns(turns, callers.get(message.tool_call_id))
    turns.at(-1)?.push(index)
    for (const call of message.tool_calls ?? []) if (call.id !== undefined) callers.set(call.id, index)
  }
  return turns
}

/** Makes one turn of the last ones, back to the one that holds a message. */
function joinTurns(turns: number[][], holding: number | undefined): void {
  if (holding === undefined) return
  const from = turns.findLastIndex((turn) => turn.includes(holding))
  if (from === -1 || from === turns.length - 1) return
  const joined = turns.splice(from).flat()
  turns.push(joined)
}
