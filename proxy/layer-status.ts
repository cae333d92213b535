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
  if (form === 'summary') return states.find(({ status }) => status === 'active')?.status ?? 'evaporation-bypassed'
  return states.map((state) => (form === 'plain' ? plain(state) : member(state))).join(', ')
}

function member({ name, status, by, buffered }: LayerState): string {
  return `${name}=${status};by=${by}${buffered ? ';buffered' : ''}`
}

function plain({ name, by }: LayerState): string {
  return `${name}=${by === 'none' ? 'bypassed' : by}`
}
