import type { ToolCall } from '../chat.ts'
import { gatewayError } from '../errors.ts'

/** The longest arguments of one choice's tool calls that are kept for a scan, in UTF-16 code units. */
const maxArguments = 1_048_576

/** Keeps the arguments of one choice's tool calls until they are whole, since JSON cut anywhere cannot be cleaned safely. */
export interface CallKeeper {
  /** What may leave of these fragments: names and ids at once, arguments once their call is over. Throws `output_invalid` beyond 1 MiB. */
  push(parts: readonly ToolCall[]): ToolCall[]
  /** The arguments of all calls that are not over. Those that began in the last push are filled in there, and not returned. */
  end(): ToolCall[]
}

interface Kept {
  readonly slot: number
  readonly id: string | undefined
  arguments: string
  /** The fragment in which the call began, while it has not left. */
  head: Writable | undefined
}
type Writable = { -readonly [Member in keyof ToolCall]: ToolCall[Member] }

/**
 * Makes a {@link CallKeeper}. Fragments belong together by `index`; a new id at an index begins another call, as some servers count every
 * call as index 0.
 */
export function createCallKeeper(clean: (args: string) => string): CallKeeper {
  let calls: Kept[] = []
  let length = 0
  const release = (call: Kept): ToolCall[] => {
    calls = calls.filter((each) => each !== call)
    if (!call.arguments) return []
    const cleaned = clean(call.arguments)
    if (!call.head) return [{ index: call.slot, function: { arguments: cleaned } }]
    call.head.function = { ...call.head.function, arguments: cleaned }
    return []
  }
  const take = (part: ToolCall, position: number): ToolCall[] => {
    const slot = part.index ?? position
    const before = calls.find((each) => each.slot === slot)
    const begins = !before || (part.id && before.id && part.id !== before.id)
    const said = part.function?.arguments ?? ''
    length += said.length
    if (length > maxArguments)
      throw gatewayError('output_invalid', 'the arguments of a tool call are too long to be checked')
    if (!begins) {
      before.arguments += said
      return []
    }
    const head: Writable = { ...part }
    if (part.function) head.function = { ...part.function, arguments: '' }
    const ended = before ? release(before) : []
    calls.push({ slot, id: part.id, arguments: said, head })
    return [...ended, head]
  }
  return {
    push(parts) {
      for (const call of calls) call.head = undefined
      return parts.flatMap(take)
    },
    end() {
      const rest = calls.flatMap(release)
      length = 0
      return rest
    },
  }
}
