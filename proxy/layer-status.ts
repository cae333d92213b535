import { type FallbackReason, fallbackCauses } from '../plugins/execution-context-fallback.ts'
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

/** Tells where every layer ran from the state of each, as a number of {@link stateCode}. */
export type StatusBook = (codeOf: (layer: string) => number) => StatusLine

/** What is told of a state beside where it is: bits. */
export const marks = { buffered: 1, armed: 2, failed: 4, beside: 8, checked: 16 } as const

const statuses: readonly LayerStatus[] = [
  'active',
  'evaporation-started',
  'evaporation-accelerating',
  'evaporation-complete',
  'evaporation-bypassed',
  'fallback',
]
const executors: readonly Executor[] = ['gateway', 'runner', 'none']
const reasons = [undefined, ...Object.keys(fallbackCauses)] as readonly (FallbackReason | undefined)[]
const reasonPlaces = new Map(reasons.map((reason, place) => [reason, place]))

/** A layer's state as a small number, so that one is the same as another exactly where their numbers are. */
export function stateCode(status: LayerStatus, by: Executor, marked = 0, reason?: FallbackReason): number {
  const place = reason === undefined ? 0 : (reasonPlaces.get(reason) as number)
  return ((place * 32 + marked) * executors.length + executors.indexOf(by)) * statuses.length + statuses.indexOf(status)
}

/** The state of a layer that is off, does not apply to the route or was not reached. */
export const bypassed: number = stateCode('evaporation-bypassed', 'none')

function stateFromCode(name: string, code: number): LayerState {
  const marked = Math.floor(code / (statuses.length * executors.length)) % 32
  const reason = reasons[Math.floor(code / (statuses.length * executors.length * 32))]
  return {
    name,
    status: statuses[code % statuses.length] as LayerStatus,
    by: executors[Math.floor(code / statuses.length) % executors.length] as Executor,
    buffered: (marked & marks.buffered) > 0,
    ...(reason ? { reason } : {}),
    ...(marked & marks.armed ? { armed: true } : {}),
    ...(marked & marks.failed ? { failed: true } : {}),
    ...(marked & marks.beside ? { beside: true } : {}),
    ...(marked & marks.checked ? { checked: true } : {}),
  }
}

interface Page {
  readonly next: Map<number, Page>
  line?: StatusLine
}

/** Makes the book. There are few combinations and every answer says one, so each is written once, and found by the states of its layers in turn. */
export function createStatusBook(names: readonly string[], form: StatusForm): StatusBook {
  const first: Page = { next: new Map() }
  return (codeOf) => {
    let page = first
    for (const name of names) {
      const code = codeOf(name)
      let next = page.next.get(code)
      if (!next) {
        next = { next: new Map() }
        page.next.set(code, next)
      }
      page = next
    }
    page.line ??= lineFrom(
      names.map((name) => stateFromCode(name, codeOf(name))),
      form,
    )
    return page.line
  }
}

function lineFrom(states: readonly LayerState[], form: StatusForm): StatusLine {
  return { states, text: layerStatus(states, form) }
}

/** The header's value. */
function layerStatus(states: readonly LayerState[], form: StatusForm): string {
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
