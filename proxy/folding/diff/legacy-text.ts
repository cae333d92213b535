import type { LayerAgreement, LegacyReport } from './legacy-agreement.ts'

/** Forms of difference that are listed of each layer. */
const listed = 3
const order = ['auth', 'rate-limit', 'cache', 'routing', 'prompt', 'postprocess', 'answer']

/** A {@link LegacyReport} as plain text, for the command `diff` and for mail. */
export function textFromLegacyReport(report: LegacyReport): string {
  const layers = Object.entries(report.layers).sort(([a], [b]) => place(a) - place(b))
  const lines = [
    `${count(report.calls)} calls served by the existing chain, ${instant(report.since)} to ${instant(report.at)}`,
    '',
    row(['layer', 'compared', 'agrees', 'agreement', 'hard', 'not compared']),
    ...layers.map(([name, layer]) => row(cellsOf(name, layer))),
    ...statusLines(report),
    ...layers.flatMap(([name, layer]) => differenceLines(name, layer)),
  ]
  if (report.ignores.length > 0) lines.push('', `${report.ignores.length} rules ignore differences`)
  return `${lines.map((line) => line.trimEnd()).join('\n')}\n`
}

function place(layer: string): number {
  const at = order.indexOf(layer)
  return at < 0 ? order.length : at
}

const widths = [13, 10, 10, 11, 7]

function row(cells: readonly string[]): string {
  return cells.map((cell, index) => (index === 0 ? cell.padEnd(13) : cell.padStart(widths[index] ?? 0))).join(' ')
}

function cellsOf(name: string, { compared, agrees, agreement, hard, skipped }: LayerAgreement): readonly string[] {
  const reasons = Object.entries(skipped).map(([reason, times]) => `${count(times)} ${reason}`)
  return [name, count(compared), count(agrees), percent(agreement), count(hard), reasons.join(', ')]
}

function statusLines({ statuses }: LegacyReport): readonly string[] {
  const differing = Object.entries(statuses).filter(([pair]) => pair.split('→')[0] !== pair.split('→')[1])
  if (differing.length === 0) return ['', 'every status agrees']
  return [
    '',
    'statuses that differ (theirs → ours)',
    ...differing.map(([pair, times]) => `  ${pair.padEnd(12)} ${count(times)}`),
  ]
}

function differenceLines(name: string, { signatures }: LayerAgreement): readonly string[] {
  if (signatures.length === 0) return []
  const shown = signatures.slice(0, listed).map((each) => {
    const codes = each.codes.some(Boolean) ? ` (${each.codes.map((code) => code || '-').join(' → ')})` : ''
    const where = each.path ?? 'a place that is not known'
    const call = each.exemplars[0]?.call
    const fuse = each.f1 ? ` ${each.f1}` : ''
    return `  ${count(each.count)} × ${each.class} ${each.kind} at ${where}: ${each.kinds.join(' → ')}${codes}${fuse}${call ? `, such as ${call}` : ''}`
  })
  const more = signatures.length > listed ? [`  and ${signatures.length - listed} other forms`] : []
  return ['', `${name} differs`, ...shown, ...more]
}

function count(value: number): string {
  return value.toLocaleString('en-US')
}

/** Cut, not rounded: 99.999 % is not all. */
function percent(share: number | undefined): string {
  return share === undefined ? '-' : `${(Math.floor(share * 10_000) / 100).toFixed(2)} %`
}

function instant(at: number): string {
  return new Date(at).toISOString().slice(0, 16).replace('T', ' ')
}
