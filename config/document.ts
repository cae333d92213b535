import {
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type Pair,
  type Document as ParsedDocument,
  parseDocument,
} from 'yaml'
import type { Fault } from '../plugins/errors.ts'

/** A configuration file as it was written: its value, what is wrong with its form, and where everything stands. */
export interface ConfigDocument {
  readonly value: unknown
  readonly faults: readonly Fault[]
  /** The 1-based line of a dotted path, or of the nearest thing around it that is there. */
  line(path: string): number | undefined
}

/**
 * Reads YAML 1.2 or JSON. Anchors, aliases and merge keys (`<<`) work; duplicate keys, unknown tags, several documents and an empty
 * file are faults. Never throws.
 */
export function documentFromText(text: string): ConfigDocument {
  const lines = new LineCounter()
  const lineAt = (offset: number) => lines.linePos(offset).line
  try {
    const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, merge: true, logLevel: 'error' })
    const errors = [...document.errors, ...document.warnings]
    if (errors.some((error) => /call stack|stack overflow/i.test(error.message))) return unreadable(tooDeep)
    const faults = errors
      .slice(0, maxFaults)
      .map((error): Fault => ({ path: '', message: plainMessage(error.message), line: lineAt(error.pos[0]) }))
    const value = faults.length > 0 ? undefined : plainValue(document)
    if (value === null) faults.push({ path: '', message: 'the file is empty' })
    return { value, faults, line: (path) => lineOfPath(document, path, lineAt) }
  } catch (reason) {
    if (reason instanceof ReferenceError) return unreadable('aliases stand for too much: more than a hundred copies')
    return unreadable(reason instanceof TypeError ? 'an anchor is used inside itself' : tooDeep)
  }
}

/** Faults of form that are listed at most; one slip can cause many. */
const maxFaults = 20
const tooDeep = 'the file is nested too deeply'

function unreadable(message: string): ConfigDocument {
  return { value: undefined, faults: [{ path: '', message }], line: () => undefined }
}

/** Aliases become copies, so that filling in a default at one place does not show at another. */
function plainValue(document: ParsedDocument): unknown {
  return JSON.parse(JSON.stringify(document.toJS({ maxAliasCount: 100 }) ?? null, finiteOnly))
}

// JSON would write .inf and .nan as null, which some fields take.
const finiteOnly = (_key: string, value: unknown): unknown =>
  typeof value === 'number' && !Number.isFinite(value) ? String(value) : value

function plainMessage(message: string): string {
  const [first = 'is not valid YAML'] = message.split('\n')
  return first.charAt(0).toLowerCase() + first.slice(1)
}

function lineOfPath(document: ParsedDocument, path: string, lineAt: (offset: number) => number): number | undefined {
  let node = resolved(document.contents, document)
  let rest = path
  let offset: number | undefined
  while (rest !== '' && node) {
    const found = isMap(node)
      ? memberOf(node.items, rest)
      : isSeq(node)
        ? itemOf(node.items as Node[], rest)
        : undefined
    if (!found) break
    offset = found.offset ?? offset
    node = resolved(found.node, document)
    rest = found.rest
  }
  return offset === undefined ? undefined : lineAt(offset)
}

interface Found {
  readonly node: unknown
  readonly offset: number | undefined
  readonly rest: string
}

/** The member whose key the path begins with; keys may hold dots, so the longest one counts. */
function memberOf(pairs: readonly Pair[], path: string): Found | undefined {
  let found: (Found & { readonly length: number }) | undefined
  for (const { key, value } of pairs) {
    if (!isScalar(key)) continue
    const written = [String(key.value), `[${String(key.value)}]`]
    const start = written.find((name) => path === name || path.startsWith(`${name}.`) || path.startsWith(`${name}[`))
    if (start === undefined || (found && found.length >= start.length)) continue
    found = { node: value, offset: key.range?.[0], rest: afterStep(path, start), length: start.length }
  }
  return found
}

function itemOf(items: readonly Node[], path: string): Found | undefined {
  const [start, index] = /^\[(\d+)\]/.exec(path) ?? []
  if (start === undefined) return undefined
  const item = items[Number(index)]
  return item && { node: item, offset: item.range?.[0], rest: afterStep(path, start) }
}

const afterStep = (path: string, start: string): string => path.slice(start.length).replace(/^\./, '')

function resolved(node: unknown, document: ParsedDocument): unknown {
  return isAlias(node) ? node.resolve(document) : node
}
