import type { LayerBook } from '../folding/diff/comparison-book.ts'
import type { SignatureRecord } from '../folding/diff/exemplars.ts'
import type { Shown } from '../folding/diff/shown-value.ts'
import type { ShadowView } from '../folding/shadow/shadow.ts'
import { factLine, tableFromRows } from './output.ts'

/** How differences are printed: `wide` with coverage by stratum and calls in which they were seen. */
export interface DiffForm {
  readonly wide: boolean
  readonly color: boolean
}

/** What `/-/diffs` tells, for people. */
export function linesFromDiffs(view: ShadowView, form: DiffForm): string {
  const layers = Object.entries(view.layers)
  if (layers.length === 0) return 'nothing has been compared yet'
  const head = ['LAYER', 'STAGE', 'EQUAL', 'DIFFERS', 'HARD', 'IGNORED', 'SKIPPED', 'COVERED']
  const rows = layers.map(([name, { stage, total, hard }]) => [
    name,
    stage || '-',
    ...[total.equal, total.differs, hard, total.ignored, total.skipped].map(String),
    percent(total.coverage),
  ])
  const parts = [
    tableFromRows(head, rows, form.color),
    signatureTable(layers, form),
    ...layers.flatMap(([name, book]) => [...remarks(name, book), ...(form.wide ? wideLines(name, book, form) : [])]),
    ...streamLines(view),
    ...droppedLines(view),
  ]
  return parts.filter(Boolean).join('\n\n')
}

function signatureTable(layers: readonly (readonly [string, LayerBook])[], { color }: DiffForm): string {
  const rows = layers.flatMap(([name, { signatures }]) =>
    signatures.map((each) => [
      name,
      each.signature,
      each.f1 ? `${each.class} F1` : each.class,
      each.kind,
      each.path ?? '?',
      changeOf(each),
      String(each.count),
      String(each.ignored),
      new Date(each.last).toISOString(),
    ]),
  )
  const head = ['LAYER', 'SIGNATURE', 'CLASS', 'KIND', 'PATH', 'OLD → NEW', 'COUNT', 'IGNORED', 'LAST']
  return rows.length === 0 ? 'no differences' : tableFromRows(head, rows, color)
}

function changeOf({ kinds, codes }: SignatureRecord): string {
  const [old, now] = [0, 1].map((side) => [kinds[side], codes[side]].filter(Boolean).join(' ') || '-')
  return `${old} → ${now}`
}

function remarks(name: string, { f1, blockedBy, skipped, beyond }: LayerBook): string[] {
  const lines = [
    ...Object.entries(f1).map(([kind, count]) => factLine(name, `${count} × ${kind}: this trips at the first`)),
    ...blockedBy.map(({ pathPattern, owner, expires }) =>
      factLine(name, `is not promoted beyond its canary while ${pathPattern} is ignored (${owner}, until ${expires})`),
    ),
    ...Object.entries(skipped).map(([reason, count]) => factLine(name, `${count} not compared: ${reason}`)),
    ...(beyond > 0 ? [factLine(name, `${beyond} differences of further forms`)] : []),
  ]
  return lines.length > 0 ? [lines.join('\n')] : []
}

function wideLines(name: string, { margins, signatures }: LayerBook, { color }: DiffForm): string[] {
  const rows = Object.entries(margins).map(([stratum, { equal, differs, ignored, skipped, coverage }]) => [
    name,
    stratum,
    String(equal + differs + ignored),
    String(differs),
    String(skipped),
    percent(coverage),
  ])
  const head = ['LAYER', 'STRATUM', 'COMPARED', 'DIFFERS', 'SKIPPED', 'COVERED']
  const calls = signatures.flatMap(({ signature, exemplars }) =>
    exemplars.map(({ call, at, stratum, difference: { shown } }) => [
      signature,
      call,
      new Date(at).toISOString(),
      stratum,
      shown ? shown.map(textFromShown).join(' → ') : '',
    ]),
  )
  const seen = ['SIGNATURE', 'CALL', 'AT', 'STRATUM', 'OLD → NEW']
  return [tableFromRows(head, rows, color), ...(calls.length > 0 ? [tableFromRows(seen, calls, color)] : [])]
}

function textFromShown({ kind, length, value, window }: Shown): string {
  if (window !== undefined) return JSON.stringify(window)
  if (value !== undefined) return String(value)
  return length === undefined ? kind : `${kind} of ${length}`
}

function streamLines({ streams }: ShadowView): string[] {
  const lines = Object.entries(streams).flatMap(([arm, { checked, broken }]) =>
    checked === 0
      ? []
      : [
          factLine('streams', `${arm}: ${checked} looked at${Object.keys(broken).length === 0 ? ', none broken' : ''}`),
          ...Object.entries(broken).map(([what, count]) => factLine('streams', `${arm}: ${count} × ${what}`)),
        ],
  )
  return lines.length > 0 ? [lines.join('\n')] : []
}

function droppedLines({ dropped }: ShadowView): string[] {
  const reasons = Object.entries(dropped)
  return reasons.length === 0 ? [] : [reasons.map(([why, count]) => factLine('dropped', `${count} ${why}`)).join('\n')]
}

/** Cut, not rounded: 99.99 % is not all. */
function percent(share: number): string {
  return `${(Math.floor(share * 1_000) / 10).toFixed(1)} %`
}
