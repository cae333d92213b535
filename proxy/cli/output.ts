import { stringify } from 'yaml'
import { closest } from '../../config/closest.ts'
import { gatewayError } from '../../plugins/errors.ts'
import { type Invocation, type Io, type Option, textOption } from './verb.ts'

/** The forms in which results are printed. */
export const formats = ['table', 'wide', 'json', 'yaml', 'name'] as const

/** One of {@link formats}. */
export type Format = (typeof formats)[number]

/** The option that chooses a form. */
export const outputOption: Record<'output', Option> = {
  output: { type: 'string', short: 'o', help: 'table (default), wide, json, yaml or name' },
}

/** The form asked for; `table` when none was. Throws `usage`. */
export function formatFromInvocation(invocation: Invocation): Format {
  const asked = textOption(invocation, 'output') ?? 'table'
  const format = formats.find((each) => each === asked)
  if (format) return format
  const near = closest(asked, formats)
  throw gatewayError('usage', `-o takes ${formats.join(', ')}${near ? `; did you mean ${near}?` : ''}`)
}

/** Prints data as JSON or YAML; false when the form is for people and the caller has to print it. */
export function printData(io: Io, format: Format, value: unknown): boolean {
  if (format === 'json') io.out(JSON.stringify(value, null, 2))
  else if (format === 'yaml') io.out(stringify(value).trimEnd())
  else return false
  return true
}

/** A table of texts: a head in capitals, columns two spaces apart. */
export function tableFromRows(head: readonly string[], rows: readonly (readonly string[])[], color: boolean): string {
  const lines = [head, ...rows.map((row) => row.map(plainText))]
  const widths = head.map((_, column) => Math.max(...lines.map((line) => (line[column] ?? '').length)))
  return lines
    .map((line, index) => {
      const cells = line.map((cell, column) => {
        const padded = column === line.length - 1 ? cell : cell.padEnd(widths[column] ?? 0)
        return color && index > 0 ? coloured(cell, padded) : padded
      })
      return cells.join('  ').trimEnd()
    })
    .join('\n')
}

/** One fact about something: its name, and the text in a column of its own. */
export function factLine(name: string, text: string): string {
  return `${name.padEnd(8)} ${plainText(text)}`
}

/** Text from elsewhere with nothing in it that a terminal would obey. */
export function plainText(text: string): string {
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g, '?')
}

const green = new Set(['ok', 'active', 'up', 'available', 'pass', 'compiled'])
const red = new Set(['degraded', 'down', 'ejected', 'fallback', 'refuse', 'refused', 'failed', 'rolled-back'])

function coloured(cell: string, padded: string): string {
  const code = green.has(cell) ? 32 : red.has(cell) ? 31 : undefined
  return code === undefined ? padded : `\u001b[${code}m${padded}\u001b[0m`
}

/** How long ago an instant was, such as `12s`, `5m`, `3h`, `2d`. Both in milliseconds since the epoch. */
export function ageFromInstant(at: number, now: number): string {
  const seconds = Math.max(0, Math.round((now - at) / 1_000))
  if (seconds < 120) return `${seconds}s`
  if (seconds < 7_200) return `${Math.floor(seconds / 60)}m`
  if (seconds < 172_800) return `${Math.floor(seconds / 3_600)}h`
  return `${Math.floor(seconds / 86_400)}d`
}
