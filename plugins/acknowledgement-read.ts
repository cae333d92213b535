import {
  type Acknowledgement,
  type LayerMember,
  maxTextUnits,
  outcomes,
  type RunnerMember,
  type UsageMember,
} from './acknowledgement.ts'
import {
  displayString,
  type Fields,
  type Kind,
  layerFields,
  runnerFields,
  usageFields,
} from './acknowledgement-text.ts'

/** An acknowledgement as it was read. */
export interface ReadAcknowledgement {
  readonly acknowledgement: Acknowledgement
  readonly mac: Buffer
  /** The text less `;mac=:…:`, which is what the mac is over. */
  readonly covered: string
}

type Member = Record<string, string | number>

// Every call pays for one of these: character by character where values are short, and patterns only for what is rare.
interface Reading {
  readonly text: string
  at: number
  runner: Member | undefined
  usage: Member | undefined
  readonly layers: Record<string, Member>
  mac: { readonly bytes: Buffer; readonly start: number; readonly end: number } | undefined
}

/** Reads an acknowledgement; undefined when it is not canonical, names anything unknown or twice, or bears no mac. Linear in its length. */
export function acknowledgementFromText(text: string): ReadAcknowledgement | undefined {
  const reading: Reading = { text, at: 0, runner: undefined, usage: undefined, layers: {}, mac: undefined }
  while (reading.at < text.length) if (!readMember(reading)) return undefined
  const { runner, usage, layers, mac } = reading
  if (runner?.['id'] === undefined || !mac) return undefined
  return {
    acknowledgement: {
      runner: runner as unknown as RunnerMember,
      layers: layers as Record<string, LayerMember>,
      ...(usage ? { usage: usage as UsageMember } : undefined),
    },
    mac: mac.bytes,
    covered: text.slice(0, mac.start) + text.slice(mac.end),
  }
}

const codes = { comma: 0x2c, semicolon: 0x3b, quote: 0x22, colon: 0x3a, percent: 0x25 } as const
const longest = { memberName: 32, parameterName: 8, token: 64, digits: 15 } as const

function readMember(reading: Reading): boolean {
  const { text } = reading
  if (reading.at > 0) {
    if (!text.startsWith(', ', reading.at)) return false
    reading.at += 2
  }
  const start = reading.at
  while (reading.at < text.length && isOfName(text.charCodeAt(reading.at))) reading.at++
  const first = text.charCodeAt(start)
  if (!(first >= 0x61 && first <= 0x7a) || reading.at - start > longest.memberName) return false
  const member: Member = {}
  const fields = named(reading, text.slice(start, reading.at), member)
  if (!fields) return false
  while (text.charCodeAt(reading.at) === codes.semicolon) if (!readParameter(reading, member, fields)) return false
  // After a member stands the next one, or nothing.
  return reading.at === text.length || text.charCodeAt(reading.at) === codes.comma
}

/** Lower-case letters, digits and dashes. */
function isOfName(code: number): boolean {
  return (code >= 0x61 && code <= 0x7a) || (code >= 0x30 && code <= 0x39) || code === 0x2d
}

/** Enters a member under its name and tells what it may hold; undefined when it is there already. */
function named(reading: Reading, name: string, member: Member): Fields | undefined {
  if (name === 'runner' || name === 'usage') {
    if (reading[name]) return undefined
    reading[name] = member
    return name === 'runner' ? runnerFields : usageFields
  }
  if (Object.hasOwn(reading.layers, name)) return undefined
  reading.layers[name] = member
  return layerFields
}

function readParameter(reading: Reading, member: Member, fields: Fields): boolean {
  const { text, at: start } = reading
  const equals = text.indexOf('=', start)
  if (equals < 0 || equals - start - 1 > longest.parameterName) return false
  const name = text.slice(start + 1, equals)
  const kind = fields.get(name)
  if (kind === undefined || member[name] !== undefined) return false
  reading.at = equals + 1
  const value = readValue(reading, kind, name)
  if (value === undefined) return false
  if (name !== 'mac') {
    member[name] = value
    return isAtEnd(reading)
  }
  if (reading.mac) return false
  reading.mac = { bytes: Buffer.from(value as string, 'base64'), start, end: reading.at }
  return isAtEnd(reading)
}

/** A value ends where the next parameter or the next member begins. */
function isAtEnd({ text, at }: Reading): boolean {
  if (at === text.length) return true
  const code = text.charCodeAt(at)
  return code === codes.semicolon || code === codes.comma
}

function readValue(reading: Reading, kind: Kind, name: string): string | number | undefined {
  if (kind === 'whole') return readWhole(reading)
  if (kind === 'token') return readToken(reading, name)
  return kind === 'bytes' ? readBytes(reading, name) : readText(reading)
}

/** 0 … 10¹⁵ − 1, without zeros in front. */
function readWhole(reading: Reading): number | undefined {
  const { text, at: start } = reading
  let value = 0
  for (; reading.at < text.length; reading.at++) {
    const digit = text.charCodeAt(reading.at) - 0x30
    if (!(digit >= 0 && digit <= 9)) break
    value = value * 10 + digit
    if (reading.at - start >= longest.digits) return undefined
  }
  const digits = reading.at - start
  return digits === 0 || (digits > 1 && text.charCodeAt(start) === 0x30) ? undefined : value
}

const modes: readonly string[] = ['enforce', 'observe']
const tokens: ReadonlyMap<string, readonly string[]> = new Map([
  ['m', modes],
  ['o', outcomes],
])

function readToken(reading: Reading, name: string): string | undefined {
  const { text, at: start } = reading
  const known = tokens.get(name)
  if (known) {
    const found = known.find((each) => text.startsWith(each, start))
    if (found !== undefined) reading.at += found.length
    return found
  }
  tokenAt.lastIndex = start
  const found = tokenAt.exec(text)?.[0]
  if (found !== undefined) reading.at += found.length
  return found
}
const tokenAt = /[A-Za-z][A-Za-z0-9_.-]{0,63}(?![A-Za-z0-9_.-])/y

/** A byte sequence in the one way to write it: padded, without loose bits at the end. */
function readBytes(reading: Reading, name: string): string | undefined {
  const { text, at } = reading
  if (text.charCodeAt(at) !== codes.colon) return undefined
  const end = text.indexOf(':', at + 1)
  if (end < 0 || end - at > 96) return undefined
  const value = text.slice(at + 1, end)
  reading.at = end + 1
  return (name === 'mac' ? canonicalBytes : sixteenBytes).test(value) ? value : undefined
}
const sixteenBytes = /^[A-Za-z0-9+/]{21}[AQgw]==$/
const canonicalBytes =
  /^(?:[A-Za-z0-9+/]{4}){0,21}(?:[A-Za-z0-9+/]{4}|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=|[A-Za-z0-9+/][AQgw]==)$/

const plainText = /^[ !#-[\]-~]*$/
const quotedAt = /"((?:[ !#-[\]-~]|\\["\\])*)"/y
const displayAt = /%"((?:[ !#$&-~]|%[0-9a-f]{2})*)"/y

function readText(reading: Reading): string | undefined {
  const { text, at } = reading
  if (text.charCodeAt(at) === codes.percent) return bounded(fromDisplay(taken(reading, displayAt)))
  if (text.charCodeAt(at) !== codes.quote) return undefined
  const end = text.indexOf('"', at + 1)
  const plain = text.slice(at + 1, end)
  if (end > 0 && plainText.test(plain)) {
    reading.at = end + 1
    return bounded(plain)
  }
  return bounded(taken(reading, quotedAt)?.replace(/\\(.)/g, '$1'))
}

/** What stands between the quotes. */
function taken(reading: Reading, pattern: RegExp): string | undefined {
  pattern.lastIndex = reading.at
  const found = pattern.exec(reading.text)
  if (found) reading.at = pattern.lastIndex
  return found?.[1]
}

function bounded(text: string | undefined): string | undefined {
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
