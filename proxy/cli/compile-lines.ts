import type { Compiled, CompiledStep, Found } from './compiled.ts'
import { wordsFromReport } from './finding-words.ts'
import { type Format, plainText, tableFromRows } from './output.ts'

/** The policies as a table: a row a route and layer, and one for each layer that is in none. */
export function tableFromCompiled({ routes, stays }: Compiled, format: Format, color: boolean): string {
  const rows = routes.flatMap(({ route, digest, bytes, steps }) =>
    steps.map((step) => [
      route,
      format === 'wide' ? digest : digest.slice(0, 12),
      String(bytes),
      step.layer,
      String(step.version),
      String(step.bytes),
      statusOf(step),
    ]),
  )
  const staying = stays.map(({ layer }) => ['–', '–', '–', layer, '–', '–', 'stays in the gateway'])
  const head = ['ROUTE', 'POLICY', 'BYTES', 'LAYER', 'VERSION', 'STEP BYTES', 'STATUS']
  return tableFromRows(head, [...rows, ...staying], color)
}

/** Every finding in words, one a layer and finder, and why layers stay. */
export function explained({ routes, stays }: Compiled): string {
  const byLayer = new Map(routes.flatMap(({ steps }) => steps.map((step) => [step.layer, step] as const)))
  const findings = [...byLayer.values()].flatMap(({ layer, found }) =>
    found.map((each) => `${layer}${at(each)}: ${wordsFromReport(each)}`),
  )
  const staying = stays.map(({ layer, why }) => `${layer}: stays in the gateway: ${why}`)
  return ['', ...findings, ...staying].map(plainText).join('\n')
}

const at = ({ by }: Found): string => (by === 'here' ? '' : ` at ${by}`)

/** One word where all say the same, else how many say what. */
function statusOf({ found }: CompiledStep): string {
  const counts = Map.groupBy(found, ({ status, code }) => (code === undefined ? status : `${status} ${code}`))
  if (counts.size === 0) return 'not known'
  if (counts.size === 1) return [...counts.keys()].join()
  return [...counts].map(([status, those]) => `${those.length}× ${status}`).join(', ')
}
