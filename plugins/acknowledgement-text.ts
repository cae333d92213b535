import {
  type Acknowledgement,
  type LayerMember,
  maxTextUnits,
  type RunnerMember,
  type UsageMember,
} from './acknowledgement.ts'

/*
 * A dictionary of RFC 9651 in its canonical form, written and read member by member: each call pays for one of each, and a general parser
 * takes several times as long. What is written here is what such a serialiser writes, and whatever is read here it reads alike.
 */

/** How the value of a parameter is written. */
export type Kind = 'whole' | 'text' | 'token' | 'bytes'
/** The parameters that a member may have, in the order in which they are written. */
export type Fields = ReadonlyMap<string, Kind>

/** What the runner says of itself, and the mac. */
export const runnerFields: Fields = new Map([
  ['boot', 'text'],
  ['caps', 'text'],
  ['id', 'text'],
  ['pol', 'text'],
  ['mac', 'bytes'],
  ['dir', 'text'],
])
/** Tokens of the call. */
export const usageFields: Fields = new Map([
  ['in', 'whole'],
  ['out', 'whole'],
  ['cached', 'whole'],
])
/** What is said of a layer. */
export const layerFields: Fields = new Map([
  ['v', 'whole'],
  ['m', 'token'],
  ['o', 'token'],
  ['code', 'token'],
  ['d', 'whole'],
  ['e', 'bytes'],
  ['sub', 'text'],
  ['ten', 'text'],
  ['tier', 'text'],
  ['rsv', 'whole'],
  ['rem', 'whole'],
  ['bkt', 'text'],
  ['used', 'whole'],
])

/** An acknowledgement as text, in two pieces: `;mac=:…:` belongs between them, and is over both. */
export interface AcknowledgementText {
  readonly before: string
  readonly after: string
}

/** Writes an acknowledgement. Whole numbers are rounded and clamped to 0 … 10¹⁵ − 1; texts are cut. Members are written in a fixed order. */
export function textFromAcknowledgement({ runner, layers, usage }: Acknowledgement): AcknowledgementText {
  const { dir, ...identity } = runner
  let after = dir === undefined ? '' : `;dir=${writtenText(dir)}`
  for (const name of Object.keys(layers)) after += `, ${name}${written(layers[name] as LayerMember, layerFields)}`
  if (usage) after += `, usage${written(usage, usageFields)}`
  return { before: `runner${written(identity, runnerFields)}`, after }
}

function written(member: RunnerMember | LayerMember | UsageMember, fields: Fields): string {
  let line = ''
  for (const [name, kind] of fields) {
    const value = (member as Readonly<Record<string, unknown>>)[name]
    if (value !== undefined) line += `;${name}=${writtenValue(value as string | number, kind)}`
  }
  return line
}

function writtenValue(value: string | number, kind: Kind): string {
  if (kind === 'text') return writtenText(value as string)
  if (kind === 'bytes') return `:${value}:`
  return kind === 'token'
    ? (value as string)
    : String(Math.min(Math.max(Math.round(value as number) || 0, 0), 999_999_999_999_999))
}

/** A string, or where it is not ASCII a display string (RFC 9651 §4.1.6, §4.1.11). */
function writtenText(value: string): string {
  const text = value.length > maxTextUnits ? value.slice(0, maxTextUnits) : value
  if (/^[ !#-[\]-~]*$/.test(text)) return `"${text}"`
  return /^[ -~]*$/.test(text) ? `"${text.replace(/["\\]/g, '\\$&')}"` : displayString(text)
}

/** A text as a display string (RFC 9651 §4.1.11): whatever is not ASCII, `%` and `"` in lower-case percent encoding. */
export function displayString(text: string): string {
  const escaped = text.toWellFormed().replace(/[^ !#$&-~]/gu, (each) => encodeURIComponent(each).toLowerCase())
  return `%"${escaped}"`
}
