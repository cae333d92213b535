import { percentile } from './figures.ts'

/** When calls are due, in milliseconds from the first instant on: a Poisson process of the given rate, the same for the same seed. */
export function dueInstants({ rate, calls, seed }: { rate: number; calls: number; seed: number }): number[] {
  const random = createRandom(seed)
  let at = 0
  return Array.from({ length: calls }, () => {
    at -= (Math.log(1 - random()) * 1000) / rate
    return at
  })
}

/** Mulberry32: numbers from 0 to 1, which is enough for arrivals. */
function createRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** How much more one takes than the other at the same quantile. */
export function overheadAt(mine: readonly number[], engine: readonly number[], p: number): number {
  return percentile(mine, p) - percentile(engine, p)
}

const steps = 1000

/** The overhead at a thousand quantiles, evenly apart: the distribution of what comes on top of the engine. */
export function overheadsOf(mine: readonly number[], engine: readonly number[]): number[] {
  const [left, right] = [mine, engine].map((values) => Float64Array.from(values).sort()) as [Float64Array, Float64Array]
  if (left.length === 0 || right.length === 0) return []
  const at = (sorted: Float64Array, p: number): number => sorted[Math.floor(p * sorted.length)] as number
  return Array.from({ length: steps }, (_, index) => (index + 0.5) / steps).map((p) => at(left, p) - at(right, p))
}

/** One subject in a {@link histogramOf}. */
export interface Column {
  readonly name: string
  readonly values: readonly number[]
}

const barWidth = 12
const bounds = [
  0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 200, 300, 500, 1000, 2000, 5000,
]

/** How the values of several subjects are spread, in milliseconds, as bars of text beside each other. Each column's longest bar is full. */
export function histogramOf(title: string, columns: readonly Column[]): string {
  const filled = columns.filter(({ values }) => values.length > 0)
  const counted = filled.map(({ values }) => countsOf(values))
  const used = counted.flatMap((counts) => counts.flatMap((count, row) => (count > 0 ? [row] : [])))
  const [first, last] = [Math.min(...used), Math.max(...used)]
  const width = Math.max(barWidth + 6, ...filled.map(({ name }) => name.length))
  const head = ['', ...filled.map(({ name }) => name.padEnd(width))].join('  '.padStart(16))
  const lines = bounds.concat(Number.POSITIVE_INFINITY).flatMap((_, row) => {
    if (row < first || row > last) return []
    const cells = counted.map((counts) => barOf(counts, row).padEnd(width))
    return [`${labelOf(row).padStart(14)}  ${cells.join('  ')}`.trimEnd()]
  })
  const indent = `${' '.repeat(16)}${head.trimStart()}`.trimEnd()
  return [title, indent, ...lines, ''].map((line) => `  ${line}`.trimEnd()).join('\n')
}

function countsOf(values: readonly number[]): number[] {
  const counts = Array.from({ length: bounds.length + 1 }, () => 0)
  for (const value of values) {
    const row = bounds.findIndex((bound) => value < bound)
    counts[row === -1 ? bounds.length : row]!++
  }
  return counts
}

function barOf(counts: readonly number[], row: number): string {
  const count = counts[row] as number
  if (count === 0) return ''
  const all = counts.reduce((sum, each) => sum + each, 0)
  const share = (count / all) * 100
  const bar = '█'.repeat(Math.round((count / Math.max(...counts)) * barWidth)) || '▏'
  return `${bar} ${share < 1 ? share.toFixed(1) : Math.round(share)} %`
}

function labelOf(row: number): string {
  const [from, to] = [bounds[row - 1], bounds[row]]
  if (from === undefined) return `under ${to} ms`
  return to === undefined ? `from ${from} ms` : `${from} – ${to} ms`
}
