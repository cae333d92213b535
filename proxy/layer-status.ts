import type { FallbackReason } from '../plugins/execution-context-fallback.ts'
import type { Executor, LayerStatus } from './telemetry/metric-values.ts'

/** How `headers.layerStatus` wants it said: RFC 9651 dictionary, the one least advanced state, or in plain words. */
export type StatusForm = 'dictionary' | 'summary' | 'plain'

/** Where one layer ran for one call. */
export interface LayerState {
  readonly name: string
  readonly status: LayerStatus
  readonly by: Executor
  /** It held the whole answer back to judge it. */
  readonly buffered: boolean
  /** Why it fell back. */
  readonly reason?: FallbackReason
  /** It acts on the answer while that is made. */
  readonly armed?: boolean
  /** It acted, and could not hold the answer to its rule: the call ended with an error. */
  readonly failed?: boolean
  /** The runner stands in front of an engine that it does not control. */
  readonly beside?: boolean
  /** The runner enforces it in part only, and the gateway goes on checking. */
  readonly checked?: boolean
}

/** What became of every layer in one call, and how the `layer-status` header says it. */
export interface StatusLine {
  readonly states: readonly LayerState[]
  readonly text: string
}

/** Tells, by the names of the layers that were asked and those that buffered, where every layer ran. */
export type StatusBook = (asked: readonly string[], buffered: readonly string[]) => StatusLine

/**
 * Makes the book. A layer that is off, does not apply to the route or was not reached is bypassed; one that was asked ran here. There
 * are few combinations and every answer says one, so each is written once.
 */
export function createStatusBook(names: readonly string[], form: StatusForm): StatusBook {
  const lines = new Map<number, StatusLine>()
  const bits = new Map(names.map((name, index) => [name, 1 << index]))
  const maskOf = (some: readonly string[]): number => some.reduce((mask, name) => mask | (bits.get(name) ?? 0), 0)
  return (asked, buffered) => {
    const [askedMask, bufferedMask] = [maskOf(asked), maskOf(buffered)]
    const key = askedMask * 65536 + bufferedMask
    let line = lines.get(key)
    if (!line) {
      const states = names.map((name) =>
        stateOf(name, (askedMask & bitOf(bits, name)) > 0, (bufferedMask & bitOf(bits, name)) > 0),
      )
      line = { states, text: layerStatus(states, form) }
      lines.set(key, line)
    }
    return line
  }
}

function bitOf(bits: ReadonlyMap<string, number>, name: string): number {
  return bits.get(name) ?? 0
}

function stateOf(name: string, asked: boolean, buffered: boolean): LayerState {
  if (!asked) return { name, status: 'evaporation-bypassed', by: 'none', buffered: false }
  return { name, status: 'active', by: 'gateway', buffered }
}

/** The header's value. */
export function layerStatus(states: readonly LayerState[], form: StatusForm): string {
  if (form === 'summary') return leastAdvanced.find((each) => states.some(({ status }) => status === each)) as string
  return states.map((state) => (form === 'plain' ? plain(state) : member(state))).join(', ')
}

const leastAdvanced: readonly LayerStatus[] = [
  'fallback',
  'active',
  'evaporation-started',
  'evaporation-accelerating',
  'evaporation-complete',
  'evaporation-bypassed',
]

function member({ name, status, by, buffered, reason, armed, failed, beside, checked }: LayerState): string {
  let text = `${name}=${status};by=${by}`
  if (reason) text += `;reason=${reason}`
  if (beside) text += ';at=beside-engine'
  if (checked) text += ';proof=gateway-checked'
  if (buffered) text += ';buffered'
  if (failed) text += ';failed'
  return armed ? `${text};armed` : text
}

const plainWords: Readonly<Record<LayerStatus, string>> = {
  active: 'gateway',
  'evaporation-started': 'shadow',
  'evaporation-accelerating': 'canary',
  'evaporation-complete': 'native',
  'evaporation-bypassed': 'bypassed',
  fallback: 'fallback',
}

function plain({ name, status }: LayerState): string {
  return `${name}=${plainWords[status]}`
}
