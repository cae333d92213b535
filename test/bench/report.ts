/** One line of the result. */
export interface Row {
  readonly what: string
  /** What is asked for, in words; absent: told for information. */
  readonly target?: string
  /** What was reached, in words. */
  readonly reached: string
  readonly verdict: Verdict
  readonly note?: string
}

/** `told` is information without a target; `skipped` could not be measured here. */
export type Verdict = 'pass' | 'miss' | 'told' | 'skipped'

/** What a suite found. */
export interface SuiteResult {
  readonly title: string
  /** How it was measured. */
  readonly method: string
  readonly rows: readonly Row[]
  /** Text that is drawn under the table, such as a histogram. */
  readonly drawn?: string
  /** Everything that was measured, for the JSON file. */
  readonly measured: unknown
}

/** A row with a bound: `value` must be at most it. */
export function atMost(what: string, value: number, bound: Bound): Row {
  return { ...said(what, bound, '≤'), verdict: value <= bound.limit ? 'pass' : 'miss' }
}

/** A row with a bound: `value` must be at least it. */
export function atLeast(what: string, value: number, bound: Bound): Row {
  return { ...said(what, bound, '≥'), verdict: value >= bound.limit ? 'pass' : 'miss' }
}

/** What a value is held against, and how both are said. */
export interface Bound {
  readonly limit: number
  readonly unit: string
  readonly reached: string
  readonly note?: string
}

function said(what: string, { limit, unit, reached, note }: Bound, sign: string) {
  const target = `${sign} ${limit.toLocaleString('en-US')} ${unit}`
  return { what, target, reached, ...(note === undefined ? {} : { note }) }
}

/** A row without a target. */
export function told(what: string, reached: string, note?: string): Row {
  return { what, reached, verdict: 'told', ...(note === undefined ? {} : { note }) }
}

/** A row that could not be measured here. */
export function skipped(what: string, why: string): Row {
  return { what, reached: why, verdict: 'skipped' }
}

/** A suite's result as aligned plain text. */
export function tableOf({ title, method, rows, drawn }: SuiteResult): string {
  const cells = rows.map((row) => [row.what, row.target ?? '', row.reached, mark(row.verdict), row.note ?? ''])
  const all = [['', 'target', 'reached', '', ''], ...cells]
  const widths = [0, 1, 2, 3].map((column) => Math.max(...all.map((row) => [...(row[column] ?? '')].length)))
  const lines = all.map((row) =>
    row
      .map((cell, column) => padded(cell, widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
  return [`${title} — ${method}`, ...lines.map((line) => `  ${line}`), '', ...(drawn ? [drawn] : [])].join('\n')
}

const padded = (cell: string, width: number): string => cell + ' '.repeat(Math.max(0, width - [...cell].length))

const mark = (verdict: Verdict): string => (verdict === 'told' ? '' : verdict === 'miss' ? 'MISS' : verdict)
