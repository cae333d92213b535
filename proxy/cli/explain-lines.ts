import { stringify } from 'yaml'
import type { LayerStory } from '../admin/operations.ts'
import type { CallStory } from '../admin/stories.ts'
import { plainText, tableFromRows } from './output.ts'

/** A layer for people: where it runs, what it reads and writes, and its settings. */
export function linesFromLayer(layer: LayerStory): string {
  const facts: [string, string][] = [
    ['layer', layer.on ? layer.name : `${layer.name} (off)`],
    ['stage', layer.stage],
    ['where', `${layer.where}, printed as ${layer.status}`],
    ['routes', layer.routes.join(', ')],
    ['reads', layer.reads.join(', ') || 'nothing'],
    ['writes', layer.writes.join(', ') || 'nothing'],
    [
      'may',
      [layer.answers ? 'answer' : '', layer.rewrites ? 'rewrite' : ''].filter(Boolean).join(', ') || 'pass or refuse',
    ],
    ['foldable', layer.foldable],
  ]
  const settings = layer.config === undefined ? [] : ['', 'settings', indented(stringify(layer.config))]
  return [...facts.map(pair), ...settings].join('\n')
}

/** A call for people: what came out, what every layer said, and which runners were tried. */
export function linesFromCall(call: CallStory, color: boolean): string {
  const { tokens } = call
  const facts: [string, string | undefined][] = [
    ['request', call.requestId],
    ['call', call.id],
    ['at', new Date(call.at).toISOString()],
    ['route', call.route],
    ['answer', `${call.status} from ${call.source}${call.error ? ` (${call.error})` : ''}`],
    ['tenant', call.tenant],
    ['took', `${ms(call.totalMs)}, first byte ${ms(call.firstByteMs)}, runner ${ms(call.runnerMs)}`],
    ['tokens', tokens && `${tokens.input ?? '?'} in, ${tokens.output ?? '?'} out`],
  ]
  const layers = call.layers.map(({ name, verdict, decideMs, settleMs }) => [name, verdict, ms(decideMs), ms(settleMs)])
  const attempts = call.attempts.map(({ runner, model, startMs, endMs, status, error }) => [
    runner,
    model,
    ms(startMs),
    endMs === undefined ? '–' : ms(endMs - startMs),
    error ?? (status === undefined ? '–' : String(status)),
  ])
  return [
    ...facts.flatMap(([name, text]) => (text === undefined ? [] : [pair([name, text])])),
    ...(layers.length > 0 ? ['', tableFromRows(['LAYER', 'VERDICT', 'IN', 'BACK'], layers, color)] : []),
    ...(attempts.length > 0
      ? ['', tableFromRows(['RUNNER', 'MODEL', 'AFTER', 'TOOK', 'OUTCOME'], attempts, color)]
      : []),
  ].join('\n')
}

const pair = ([name, text]: [string, string]): string => `${name.padEnd(8)} ${plainText(text)}`

const ms = (value: number | undefined): string =>
  value === undefined ? '–' : `${value.toFixed(value < 10 ? 2 : 0)} ms`

const indented = (text: string): string =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => `  ${plainText(line)}`)
    .join('\n')
