import type { CaseResult, Conformance } from './conformance.ts'

/** How a report is written. */
export const outputs = ['table', 'json'] as const

/** One way to write it. */
export type Output = (typeof outputs)[number]

/** A report as text. */
export function textOf(conformance: Conformance, output: Output): string {
  return output === 'json' ? `${JSON.stringify(conformance, null, 2)}\n` : `${lines(conformance).join('\n')}\n`
}

function lines({ url, runner, cases, ok, failed, skipped, ms }: Conformance): string[] {
  const sections = [...new Set(cases.map(({ section }) => section))]
  const summary = [`${ok} ok`, `${failed} FAILED`, ...(skipped > 0 ? [`${skipped} skipped`] : [])].join(', ')
  return [
    `${runner} at ${url}`,
    ...sections.flatMap((section) => [
      '',
      section,
      ...cases.filter((each) => each.section === section).flatMap(linesOf),
    ]),
    '',
    `${summary}, in ${(ms / 1_000).toFixed(1)} s`,
  ]
}

function linesOf({ result, title, why, asked, came, must, see }: CaseResult): string[] {
  if (result === 'ok') return [`  ok       ${title}`]
  if (result === 'skipped') return [`  skipped  ${title}: ${why}`]
  return [
    `  FAILED   ${title}`,
    ...[`asked  ${asked}`, `came   ${came}`, `must   ${must}`, `see    ${see}`].map((line) => `             ${line}`),
  ]
}
