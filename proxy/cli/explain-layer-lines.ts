import { stringify } from 'yaml'
import type { LayerProcessView, LayerStory } from '../admin/layer-view.ts'
import { wordsFromReport } from './finding-words.ts'
import { stageOf } from './layers.ts'
import { factLine, plainText } from './output.ts'

/** A layer for people: where it runs, whether runners can act by it, what it reads and writes, and its settings. */
export function linesFromLayer(layer: LayerStory): string {
  const { name, policies, processes, reads, writes, stays } = layer
  const facts: [string, string][] = [
    ['layer', layer.on ? name : `${name} (off)`],
    ['stage', stageOf(layer)],
    ['where', `${layer.where}, printed as ${layer.status}`],
    ['routes', layer.routes.join(', ')],
    ['reads', reads.join(', ') || 'nothing'],
    ['writes', writes.join(', ') || 'nothing'],
    [
      'may',
      [layer.answers ? 'answer' : '', layer.rewrites ? 'rewrite' : ''].filter(Boolean).join(', ') || 'pass or refuse',
    ],
    ['foldable', layer.foldable],
    ...(stays === undefined ? [] : [['stays', `in the gateway: ${stays}`] as [string, string]]),
    ...policies.map(({ route, digest, bytes }): [string, string] => ['policy', `${route} ${digest} ${bytes} bytes`]),
    ...processes.map((process): [string, string] => ['process', wordsFromProcess(process)]),
  ]
  const settings = layer.config === undefined ? [] : ['', 'settings', indented(stringify(layer.config))]
  return [...facts.map(([head, text]) => factLine(head, text)), ...settings].join('\n')
}

function wordsFromProcess({ runner, address, able, reason, why, report }: LayerProcessView): string {
  const can = able ? 'can act' : `cannot act (${reason}): ${why}`
  const rule = report ? `; its rule is ${wordsFromReport(report)}` : ''
  return `${runner} ${address} ${can}${able || report?.status !== 'refused' ? rule : ''}`
}

const indented = (text: string): string =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => `  ${plainText(line)}`)
    .join('\n')
