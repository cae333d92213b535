import { dirname, resolve } from 'node:path'
import { canonicalDigest } from '../plugins/canonical.ts'
import { type Fault, GatewayError, gatewayError } from '../plugins/errors.ts'
import { checkConfig } from './check.ts'
import { missingFiles } from './check-files.ts'
import { type ConfigDocument, documentFromText } from './document.ts'
import { type Overridden, overrideFromEnvironment } from './environment.ts'
import { fingerprintFiles } from './fingerprint.ts'
import { namedFiles } from './named-files.ts'
import { redactConfig } from './redact.ts'
import type { ConfigSchema, GatewayConfig } from './schema.ts'
import { readNamedFile, resolveFrom } from './secret-file.ts'
import { substituteFiles } from './substitute.ts'
import { wordFault } from './wording.ts'

/** A configuration that is right, and what is to know about it. */
export interface LoadedConfig {
  readonly config: GatewayConfig
  /** The configuration with every secret redacted, for `/-/config` and logs. */
  readonly view: unknown
  /** SHA-256 of the redacted configuration, in hex: tells two replicas' configurations apart and gives nothing away. */
  readonly digest: string
  /** What can be used but somebody should know. */
  readonly warnings: readonly Fault[]
  /** The configuration file, as an absolute path. */
  readonly file: string
  /** The directory that paths in the configuration are relative to. */
  readonly base: string
  /** The 1-based line of the file where a dotted path stands; undefined for what is not in it. */
  readonly line: (path: string) => number | undefined
  /** Every other file that it names or reads in, as absolute paths. */
  readonly files: readonly string[]
  /** Of `file` and `files` as they were read; see `watchFiles`. */
  readonly fingerprint: string
}

/** What a configuration is read with. */
export interface LoadOptions {
  readonly schema: ConfigSchema
  /** Where overriding variables are looked for; default: this process's environment. */
  readonly env?: NodeJS.ProcessEnv
}

/**
 * Reads a configuration file, lays the environment over it and checks all of it. Throws `config_invalid` with every fault, each with
 * its path and, where it stands in the file, its line.
 */
export function loadConfig(file: string, options: LoadOptions): LoadedConfig {
  const path = resolve(file)
  const document = documentFromText(textFromFile(path))
  if (document.faults.length > 0) throw invalid(path, document.faults)
  const draft = draftFromDocument(document, dirname(path), options)
  if (draft.faults.length > 0 || !draft.config) throw invalid(path, draft.faults)
  const { config, warnings, files, written } = draft
  const named = namedFiles(config).map((each) => resolveFrom(dirname(path), each.file))
  const view = redactConfig(config, { schema: options.schema.json, written })
  const all = [...new Set([...files, ...named])]
  return {
    config,
    view,
    digest: canonicalDigest(view),
    warnings,
    file: path,
    base: dirname(path),
    line: document.line,
    files: all,
    fingerprint: fingerprintFiles([path, ...all]).digest,
  }
}

function textFromFile(path: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(readNamedFile(path))
  } catch (reason) {
    const message = reason instanceof GatewayError ? reason.message : `${path} is not UTF-8 text`
    throw invalid(path, [{ path: '', message }])
  }
}

function invalid(path: string, faults: readonly Fault[]): GatewayError {
  const count = faults.length === 1 ? '1 fault' : `${faults.length} faults`
  return gatewayError('config_invalid', `configuration ${path} has ${count}`, { faults, field: faults[0]?.path })
}

interface Draft {
  readonly config: GatewayConfig | undefined
  readonly faults: readonly Fault[]
  readonly warnings: readonly Fault[]
  readonly files: readonly string[]
  readonly written: ReadonlyMap<string, string>
}

function draftFromDocument(document: ConfigDocument, base: string, { schema, env = process.env }: LoadOptions): Draft {
  if (typeof document.value !== 'object' || document.value === null || Array.isArray(document.value)) {
    return {
      ...nothing,
      faults: [{ path: '', message: 'must be a section with keys such as listen and runners', line: 1 }],
    }
  }
  const {
    value: overridden,
    faults: outside,
    overridden: names,
  } = overrideFromEnvironment(document.value, env, schema.json)
  const { value, faults: unread, written, files: included } = substituteFiles(overridden, base)
  const shape = schema.faults(value).map((fault) => wordFault(fault, schema.json, value))
  const unsound = sectionsOf([...outside, ...unread, ...shape])
  const sound = withoutSections(value as Record<string, unknown>, unsound)
  const checked =
    schema.faults(sound).length > 0
      ? nothing
      : checkConfig(schema.parse(sound), { base, layers: schema.layers }, unsound)
  const place = (fault: Fault) => placed(fault, document, names)
  const files = missingFiles(value, base)
  const faults = distinct([...outside, ...unread, ...shape, ...files, ...checked.faults])
    .map(place)
    .sort(byLine)
  const config = faults.length === 0 ? schema.parse(value) : undefined
  return { config, faults, warnings: checked.warnings.map(place).sort(byLine), files: included, written }
}

const nothing: Draft = { config: undefined, faults: [], warnings: [], files: [], written: new Map() }

/** The same thing is said once, whoever found it. */
function distinct(faults: readonly Fault[]): Fault[] {
  return [...new Map(faults.map((fault) => [`${fault.path}\n${fault.message}`, fault])).values()]
}

/** The sections that faults stand in: the first step of a path, and the layer inside `layers`. */
function sectionsOf(faults: readonly Fault[]): ReadonlySet<string> {
  return new Set(
    faults.flatMap(({ path }) => {
      const [section = '', layer = ''] = path.split(/[.[]/)
      return section === 'layers' ? ['layers', `layers.${layer}`] : [section]
    }),
  )
}

/** What is left when unsound sections are taken out, so that the checks of the others still have their say. */
function withoutSections(value: Record<string, unknown>, unsound: ReadonlySet<string>): Record<string, unknown> {
  const sound = Object.entries(value).filter(([key]) => key === 'layers' || !unsound.has(key))
  const rest = Object.fromEntries(sound)
  const layers = value['layers']
  if (typeof layers !== 'object' || layers === null || Array.isArray(layers)) return { ...rest, layers: {} }
  const kept = Object.entries(layers).filter(([name]) => !unsound.has(`layers.${name}`))
  return { ...rest, layers: Object.fromEntries(kept) }
}

/** Where a fault stands: a line of the file, or the variable that set the value. */
function placed(fault: Fault, document: ConfigDocument, overridden: Overridden): Fault {
  const variable = [...overridden].find(
    ([path]) => fault.path === path || (/^[.[]/.test(fault.path.slice(path.length)) && fault.path.startsWith(path)),
  )
  if (variable) return { ...fault, message: `${fault.message} (set by ${variable[1]})` }
  const line = document.line(fault.path)
  return line === undefined ? fault : { ...fault, line }
}

const byLine = (a: Fault, b: Fault): number =>
  (a.line ?? 0) - (b.line ?? 0) || (a.path < b.path ? -1 : a.path > b.path ? 1 : 0)
