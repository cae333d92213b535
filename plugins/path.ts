import type { Call } from './call.ts'
import { gatewayError } from './errors.ts'

/** What a path that is not there gives: distinct from null and from the empty string. */
export const absent: unique symbol = Symbol('absent')

/** A compiled path of `input_hash_fields`, `key_fields` or `echo_guard`. */
export interface Path {
  /** As written. */
  readonly text: string
  /** Facts (what layers know of the caller) or the body (what the caller wrote). */
  readonly source: 'facts' | 'body'
  readonly steps: readonly (string | number)[]
}

/** Names that always resolve in facts, whatever claims auth declares. */
export const factNames: readonly string[] = ['client_ip', 'id', 'tenant', 'tier', 'scopes', 'target', 'template']

/**
 * Compiles a path: `messages.0.content`, `messages[-1].content`, `user.profile.tier`, `["odd.key"]`. A first step that is a declared
 * name resolves in facts only, also when absent there; `facts.` and `body.` force. Throws `invalid_path` naming the text.
 */
export function compilePath(text: string, declared: ReadonlySet<string>): Path {
  const steps = stepsFromText(text)
  const [first, ...rest] = steps
  if (first === 'facts' || first === 'body') {
    if (rest.length === 0)
      throw gatewayError('invalid_path', `path "${text}" names nothing inside ${first}`, { field: text })
    return { text, source: first, steps: rest }
  }
  const known = typeof first === 'string' && (declared.has(first) || factNames.includes(first))
  return { text, source: known ? 'facts' : 'body', steps }
}

// A name, an index in brackets (negative counts from the end), or a quoted name in brackets.
const step = /\.?(?:([^.[\]"\s]+)|\[(-?\d{1,9})\]|\["((?:[^"\\]|\\.)*)"\])/y

function stepsFromText(text: string): (string | number)[] {
  const steps: (string | number)[] = []
  let at = 0
  while (at < text.length) {
    step.lastIndex = at
    const match = step.exec(text)
    const dotted = text[at] === '.'
    if (!match || (dotted && at === 0) || (!dotted && at > 0 && match[1] !== undefined)) {
      throw gatewayError('invalid_path', `path "${text}" is not valid at character ${at + 1}`, { field: text })
    }
    if (match[1] !== undefined) steps.push(/^-?\d{1,9}$/.test(match[1]) ? Number(match[1]) : match[1])
    else if (match[2] !== undefined) steps.push(Number(match[2]))
    else steps.push((match[3] as string).replace(/\\(.)/g, '$1'))
    at = step.lastIndex
  }
  if (steps.length === 0) throw gatewayError('invalid_path', 'a path must not be empty', { field: text })
  return steps
}

/** The value at a path of a call, or {@link absent}. Own properties only; nothing inherited is ever read. */
export function readPath(path: Path, call: Call): unknown {
  return path.source === 'facts' ? readFact(path.steps, call) : readSteps(call.request, path.steps)
}

/** The value at steps inside a value, or {@link absent}. Undefined counts as absent, null does not. */
export function readSteps(value: unknown, steps: readonly (string | number)[]): unknown {
  let at = value
  for (const each of steps) {
    at = Array.isArray(at) ? arrayItem(at, each) : ownMember(at, String(each))
    if (at === absent) return absent
  }
  return at === undefined ? absent : at
}

/** A fact by the name people use for it: members of the principal and its claims come before other facts. */
function readFact(steps: readonly (string | number)[], call: Call): unknown {
  const [name, ...rest] = steps
  const { principal, ...others } = call.facts
  for (const holder of [others, principal, principal?.claims]) {
    const value = ownMember(holder, String(name))
    if (value !== absent && value !== undefined) return readSteps(value, rest)
  }
  return absent
}

function arrayItem(list: readonly unknown[], at: string | number): unknown {
  if (typeof at !== 'number') return absent
  const index = at < 0 ? list.length + at : at
  return index >= 0 && index < list.length ? list[index] : absent
}

function ownMember(holder: unknown, name: string): unknown {
  if (holder === null || typeof holder !== 'object' || !Object.hasOwn(holder, name)) return absent
  return (holder as Record<string, unknown>)[name]
}
