import { headerNames } from '../../../plugins/headers.ts'
import { answerLayer } from './comparison.ts'
import { type Difference, differenceIn, kindOf } from './difference.ts'
import { headerClass } from './field-class.ts'
import { shown } from './shown-value.ts'

/** Headers of an answer, names in lower case. */
export type AnswerHeaders = Readonly<Record<string, string | readonly string[] | undefined>>

/** How headers are held against each other. */
export interface HeaderSlack {
  /** Calls of the same key that were under way: by so much may what remains of its limit differ. Default 0. */
  readonly inFlight?: number
  /** Prefix of our own headers, which only one side sets. Default `x-`. */
  readonly prefix?: string
  /** The layer that the differences are of. Default {@link answerLayer}. */
  readonly layer?: string
}

/** How far apart the seconds of `retry-after` and of resets may be. */
const secondsApart = 1

/** The differences between the headers of two answers. */
export function diffHeaders(old: AnswerHeaders, now: AnswerHeaders, slack: HeaderSlack = {}): readonly Difference[] {
  const ours: ReadonlySet<string> = new Set(Object.values(headerNames(slack.prefix)))
  const names = new Set([...Object.keys(old), ...Object.keys(now)])
  return [...names].sort().flatMap((name) => {
    const of = headerClass(name)
    const [one, two] = [textOf(old[name]), textOf(now[name])]
    if (of === 'I' || ours.has(name) || sameHeader(name, one, two, { ...slack, presence: of === 'P' })) return []
    const kind = two === undefined ? 'missing' : one === undefined ? 'added' : 'value'
    const plain = name.startsWith('x-ratelimit-') || name === 'retry-after' || name === 'content-type'
    return [
      differenceIn(slack.layer ?? answerLayer, {
        class: of,
        kind,
        path: `headers.${name}`,
        kinds: [kindOf(one), kindOf(two)],
        shown: [shown(numeric(one), { plain }), shown(numeric(two), { plain })],
      }),
    ]
  })
}

function textOf(value: string | readonly string[] | undefined): string | undefined {
  return typeof value === 'object' ? value.join(', ') : value?.trim()
}

function numeric(value: string | undefined): string | number | undefined {
  return value !== undefined && /^\d{1,15}$/.test(value) ? Number(value) : value
}

interface Held extends HeaderSlack {
  readonly presence: boolean
}

function sameHeader(name: string, old: string | undefined, now: string | undefined, held: Held): boolean {
  if (old === now) return true
  if (old === undefined || now === undefined) return false
  if (held.presence) return true
  if (name === 'content-type') return mediaType(old) === mediaType(now)
  if (name === 'retry-after' || /ratelimit.*reset|reset.*ratelimit/.test(name))
    return within(seconds(old), seconds(now), secondsApart)
  if (/ratelimit.*remaining/.test(name)) return within(Number(old), Number(now), held.inFlight ?? 0)
  return false
}

function within(old: number, now: number, apart: number): boolean {
  return Math.abs(old - now) <= apart
}

/** The type with its parameters, without a charset that JSON and events have anyway. */
function mediaType(value: string): string {
  const [type = '', ...parameters] = value.toLowerCase().split(';')
  const kept = parameters
    .map((each) => each.trim().replaceAll('"', ''))
    .filter((each) => each && each !== 'charset=utf-8')
  return [type.trim(), ...kept.sort()].join(';')
}

const units: Readonly<Record<string, number>> = { ms: 0.001, s: 1, m: 60, h: 3_600, d: 86_400 }

/** Seconds of `12`, `1.5s`, `6m0s`, an HTTP date or an instant in ISO 8601; NaN for anything else. */
function seconds(value: string): number {
  if (/^\d+(\.\d+)?$/.test(value)) return Number(value)
  if (!/^(\d+(\.\d+)?(ms|s|m|h|d))+$/.test(value)) return Date.parse(value) / 1_000
  let sum = 0
  for (const [, amount, unit] of value.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/g))
    sum += Number(amount) * (units[unit ?? ''] ?? 0)
  return sum
}
