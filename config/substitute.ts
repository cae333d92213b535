import { isUtf8 } from 'node:buffer'
import { type Fault, GatewayError, gatewayError } from '../plugins/errors.ts'
import { joinPath } from '../plugins/schema.ts'
import { readSecretFile, resolveFrom } from './secret-file.ts'

/** A configuration with its `${file:…}` references read. */
export interface Substituted {
  readonly value: unknown
  readonly faults: readonly Fault[]
  /** What was written where a file was read in, by dotted path; shown instead of the content. */
  readonly written: ReadonlyMap<string, string>
  /** The files that were read, as absolute paths. */
  readonly files: readonly string[]
}

const reference = /\$\{file:([^}]*)\}/g

/** Replaces every `${file:/run/secrets/x}` inside a text by that file, relative to `base`, one trailing newline trimmed. */
export function substituteFiles(value: unknown, base: string): Substituted {
  const work: Work = { base, faults: [], written: new Map(), files: new Set() }
  const substituted = walk(value, '', work)
  return { value: substituted, faults: work.faults, written: work.written, files: [...work.files] }
}

interface Work {
  readonly base: string
  readonly faults: Fault[]
  readonly written: Map<string, string>
  readonly files: Set<string>
}

function walk(value: unknown, path: string, work: Work): unknown {
  if (typeof value === 'string') return value.includes('${file:') ? replaced(value, path, work) : value
  if (Array.isArray(value)) return value.map((item, index) => walk(item, `${path}[${index}]`, work))
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, walk(item, joinPath(path, key), work)]))
}

function replaced(text: string, path: string, work: Work): string {
  work.written.set(path, text)
  try {
    return text.replace(reference, (_whole, name: string) => {
      const file = resolveFrom(work.base, name.trim())
      work.files.add(file)
      return textFromFile(file)
    })
  } catch (reason) {
    if (!(reason instanceof GatewayError)) throw reason
    work.faults.push({ path, message: reason.message })
    return text
  }
}

function textFromFile(file: string): string {
  const bytes = readSecretFile(file)
  if (isUtf8(bytes)) return bytes.toString('utf8')
  throw gatewayError('config_invalid', `${file} is not UTF-8 text`)
}
