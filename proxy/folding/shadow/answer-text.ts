import { canonicalJson } from '../../../plugins/canonical.ts'

interface Choice {
  readonly text?: unknown
  readonly message?: { readonly content?: unknown; readonly tool_calls?: readonly Called[] }
}
interface Called {
  readonly function?: { readonly name?: unknown; readonly arguments?: unknown }
}
interface Block {
  readonly type?: unknown
  readonly text?: unknown
  readonly name?: unknown
  readonly input?: unknown
}

/** What a whole answer says to its reader, in either dialect: its text, and the tools that it calls. */
export function answerText(status: number, body: unknown): string {
  if (status >= 300) return `status ${status}`
  const { choices, content } = (body ?? {}) as {
    readonly choices?: readonly Choice[]
    readonly content?: readonly Block[]
  }
  if (Array.isArray(choices)) return (choices as readonly Choice[]).map(textOfChoice).join('\n')
  return Array.isArray(content) ? (content as readonly Block[]).map(textOfBlock).join('') : ''
}

function textOfChoice({ text, message }: Choice): string {
  const calls = Array.isArray(message?.tool_calls) ? (message.tool_calls as readonly Called[]) : []
  const called = calls.map(({ function: of }) => callText(of?.name, parsed(of?.arguments)))
  return [text ?? message?.content ?? '', ...called].join('')
}

function textOfBlock({ type, text, name, input }: Block): string {
  if (type === 'text') return String(text ?? '')
  return type === 'tool_use' ? callText(name, input) : ''
}

function callText(name: unknown, input: unknown): string {
  return `\n${String(name ?? '')}(${canonicalJson(input ?? null)})`
}

function parsed(text: unknown): unknown {
  try {
    return JSON.parse(String(text))
  } catch {
    return text
  }
}
