import {
  type Acknowledgement,
  type LayerMember,
  maxTextUnits,
  outcomes,
  type RunnerMember,
  type UsageMember,
} from './acknowledgement.ts'

/*
 * A dictionary of RFC 9651 in its canonical form, written and read member by member: each call pays for one of each, and a general parser
 * takes several times as long. What is written here is what such a serialiser writes, and whatever is read here it reads alike.
 */

type Kind = 'whole' | 'text' | 'token' | 'bytes'
type Fields = Readonly<Record<string, Kind>>

const runnerFields: Fields = { boot: 'text', caps: 'text', id: 'text', pol: 'text', mac: 'bytes', dir: 'text' }
const usageFields: Fields = { in: 'whole', out: 'whole', cached: 'whole' }
const layerFields: Fields = {
  v: 'whole',
  m: 'token',
  o: 'token',
  code: 'token',
  d: 'whole',
  e: 'bytes',
  sub: 'text',
  ten: 'text',
  tier: 'text',
  rsv: 'whole',
  rem: 'whole',
  bkt: 'text',
  used: 'whole',
}

/** An acknowledgement as text, in two pieces: `;mac=:…:` belongs between them, and is over both. */
export interface AcknowledgementText {
  readonly before: string
  readonly after: string
}

/** An acknowledgement as it was read. */
export interface ReadAcknowledgement {
  readonly acknowledgement: Acknowledgement
  readonly mac: Buffer
  /** The text less `;mac=:…:`, which is what the mac is over. */
  readonly covered: string
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
  for (const name in fields) {
    const value = (member as Readonly<Record<string, unknown>>)[name]
    if (value !== undefined) line += `;${name}=${writtenValue(value as string | number, fields[name] as Kind)}`
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

function displayString(text: string): string {
  const escaped = text.toWellFormed().replace(/[^ !#$&-~]/gu, (each) => encodeURIComponent(each).toLowerCase())
  return `%"${escaped}"`
}

const memberName = /(?:, )?([a-z][a-z0-9-]{0,31})(?=[;,]|$)/y
const parameter =
  /;([a-z]{1,8})=(?:(0|[1-9]\d{0,14})|"((?:[ !#-[\]-~]|\\["\\])*)"|:([A-Za-z0-9+/]{2,88}={0,2}):|%"((?:[ !#$&-~]|%[0-9a-f]{2})*)"|([A-Za-z][A-Za-z0-9_.-]{0,63}))(?=[;,]|$)/y

/** Reads an acknowledgement; undefined when it is not canonical, names anything unknown or twice, or bears no mac. Linear in its length. */
export function acknowledgementFromText(text: string): ReadAcknowledgement | undefined {
  const reading: Reading = { text, at: 0, members: new Map() }
  while (reading.at < text.length) if (!readMember(reading)) return undefined
  const { members, mac } = reading
  const runner = members.get('runner') as unknown as RunnerMember | undefined
  if (!runner || runner.id === undefined || !mac) return undefined
  const usage = members.get('usage') as UsageMember | undefined
  members.delete('runner')
  members.delete('usage')
  return {
    acknowledgement: {
      runner,
      layers: Object.fromEntries(members) as Record<string, LayerMember>,
      ...(usage ? { usage } : {}),
    },
    mac: mac.bytes,
    covered: text.slice(0, mac.start) + text.slice(mac.end),
  }
}

type Member = Record<string, string | number>

interface Reading {
  readonly text: string
  at: number
  readonly members: Map<string, Member>
  mac?: { readonly bytes: Buffer; readonly start: number; readonly end: number }
}

function readMember(reading: Reading): boolean {
  memberName.lastIndex = reading.at
  const match = memberName.exec(reading.text)
  const name = match?.[1]
  if (name === undefined || reading.members.has(name) || match?.[0].startsWith(',') !== reading.at > 0) return false
  reading.at = memberName.lastIndex
  const fields = name === 'runner' ? runnerFields : name === 'usage' ? usageFields : layerFields
  const member: Member = {}
  reading.members.set(name, member)
  while (reading.text.charCodeAt(reading.at) === 0x3b) if (!readParameter(reading, member, fields)) return false
  return true
}

function readParameter(reading: Reading, member: Member, fields: Fields): boolean {
  parameter.lastIndex = reading.at
  const match = parameter.exec(reading.text)
  const name = match?.[1]
  if (!match || name === undefined || !Object.hasOwn(fields, name) || Object.hasOwn(member, name)) return false
  const start = reading.at
  reading.at = parameter.lastIndex
  if (name === 'mac') {
    const bytes = match[4] === undefined ? undefined : bytesFromBase64(match[4])
    if (!bytes || reading.mac) return false
    reading.mac = { bytes, start, end: reading.at }
    return true
  }
  const value = valueFrom(match, name, fields[name] as Kind)
  if (value === undefined) return false
  member[name] = value
  return true
}

function valueFrom(match: RegExpExecArray, name: string, kind: Kind): string | number | undefined {
  if (kind === 'whole') return match[2] === undefined ? undefined : Number(match[2])
  if (kind === 'bytes') return match[4] !== undefined && /^.{21}[AQgw]==$/.test(match[4]) ? match[4] : undefined
  if (kind === 'text') return textFrom(match[3], match[5])
  const token = match[6]
  if (token === undefined) return undefined
  const known = name === 'm' ? modes : name === 'o' ? outcomes : undefined
  return known && !known.some((each) => each === token) ? undefined : token
}
const modes = ['enforce', 'observe'] as const

function textFrom(quoted: string | undefined, display: string | undefined): string | undefined {
  const text =
    quoted === undefined ? fromDisplay(display) : quoted.includes('\\') ? quoted.replace(/\\(.)/g, '$1') : quoted
  return text !== undefined && text.length <= maxTextUnits ? text : undefined
}

function fromDisplay(display: string | undefined): string | undefined {
  if (display === undefined) return undefined
  try {
    const text = decodeURIComponent(display)
    return displayString(text) === `%"${display}"` ? text : undefined
  } catch {
    return undefined
  }
}

function bytesFromBase64(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64')
  return bytes.toString('base64') === text ? bytes : undefined
}
