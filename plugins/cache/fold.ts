import { jsonFromText } from '../chat.ts'
import { type Fault, gatewayError } from '../errors.ts'
import { defaultPrefix } from '../headers.ts'
import type { FoldSource } from '../host.ts'
import { createSchema } from '../schema.ts'
import type { CacheConfig } from './config.ts'
import { keptBy, pathOf } from './fact-names.ts'
import { type Pin, pinSchema } from './pin.ts'
import type { CacheStep } from './step.ts'

/** Why this configuration can never leave the gateway, in words; undefined when it can. */
export function stays({ input_hash_fields }: Pick<CacheConfig, 'input_hash_fields'>): string | undefined {
  return input_hash_fields?.map((field) => keptBy(pathOf(field))).find((why) => why !== undefined)
}

/** The rule for the runner, as data. Pure but for the file of curated answers. Throws `config_invalid` naming each line that is wrong. */
export function fold(config: CacheConfig, source: StepSource): CacheStep {
  const { step, faults } = stepFromConfig(config, source)
  throwFaults(faults)
  return step
}

/** What of {@link FoldSource} the cache reads. */
export type StepSource = Pick<FoldSource, 'declared' | 'conversationHeader' | 'file'>

/** A step, where each of its curated answers came from, and the lines that could not be read. */
export interface FoldedStep {
  readonly step: CacheStep
  /** Paths inside the section, by place in `pins`. */
  readonly places: readonly string[]
  readonly faults: readonly Fault[]
}

/** Makes the step, and says what is wrong with the file instead of throwing. */
export function stepFromConfig(config: CacheConfig, source: StepSource): FoldedStep {
  const { pinned, importFile, ...settings } = config
  const faults: Fault[] = []
  const lines = importFile === null ? [] : linesOf(source.file(importFile), faults)
  const step = {
    ...settings,
    pins: [...pinned, ...lines.map(({ pin }) => pin)],
    declared: [...source.declared].sort(),
    headerPrefix: prefixOf(source.conversationHeader),
  }
  return { step, places: [...pinned.map((_, index) => `pinned[${index}]`), ...lines.map(({ at }) => at)], faults }
}

/** Throws `config_invalid` with all of them; nothing when there are none. */
export function throwFaults(faults: readonly Fault[]): void {
  const [first] = faults
  if (first) throw gatewayError('config_invalid', `${first.path}: ${first.message}`, { faults, field: first.path })
}

function prefixOf(conversationHeader: string): string {
  const tail = 'conversation-id'
  return conversationHeader.endsWith(tail) ? conversationHeader.slice(0, -tail.length) : defaultPrefix
}

const pinLine = createSchema<Pin>(pinSchema)

function linesOf(file: Buffer, faults: Fault[]): { readonly pin: Pin; readonly at: string }[] {
  return file
    .toString('utf8')
    .split('\n')
    .flatMap((line, index) => {
      if (!line.trim()) return []
      const at = `importFile line ${index + 1}`
      const value = jsonOf(line)
      const wrong = value === undefined ? [{ path: '', message: 'is not JSON' }] : pinLine.faults(value)
      for (const { path, message } of wrong) faults.push({ path: path ? `${at}: ${path}` : at, message })
      return wrong.length > 0 ? [] : [{ pin: value as Pin, at }]
    })
}

function jsonOf(line: string): unknown {
  try {
    return jsonFromText(line)
  } catch {
    return undefined
  }
}
