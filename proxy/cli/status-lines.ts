import type { StatusView } from '../admin/operations.ts'
import type { RunnerProcessView, RunnerView } from '../admin/runner-view.ts'
import { lineFromFault } from './fault-line.ts'
import { layerHead, rowFromLayer } from './layers.ts'
import { ageFromInstant, type Format, factLine, tableFromRows } from './output.ts'
import type { Io } from './verb.ts'

/** Faults of a refused reload that are shown; `foldgate check` shows all. */
const maxFaults = 5

/** One replica's status for people: what it is, what is wrong with it, its runners and its layers. */
export function linesFromStatus(
  status: StatusView & { admin: string },
  { io, format }: { io: Io; format: Format },
): string {
  const now = Date.now()
  const { lastReload, store } = status
  const reload = lastReload.ok
    ? `in use since ${ageFromInstant(lastReload.at, now)} (${lastReload.by})`
    : 'the last reload was refused'
  const facts: [string, string][] = [
    ['gateway', `${status.admin} ${status.state}`],
    ['version', `${status.version}, up ${ageFromInstant(status.startedAt, now)}, ${status.inFlight} in flight`],
    ['config', `${status.config.slice(0, 12)} ${reload}`],
    ['store', `${store.kind} ${store.up ? 'up' : 'down'}`],
    ...status.runners.flatMap((runner) => linesFromRunner(runner, format)),
    ...linesFromSwitches(status.switches),
    ...lastReload.faults.slice(0, maxFaults).map((fault): [string, string] => ['fault', lineFromFault(fault)]),
    ...status.problems.map((problem): [string, string] => ['problem', problem]),
  ]
  const top = facts.map(([name, text]) => factLine(name, text))
  const table = tableFromRows(
    layerHead(format),
    status.layers.map((layer) => rowFromLayer(layer, format)),
    io.color,
  )
  return [...top, '', table, ''].join('\n')
}

/** What is frozen is no problem, and nothing that anybody should have to search for. */
function linesFromSwitches({ freeze }: StatusView['switches']): [string, string][] {
  return freeze ? [['frozen', `since ${new Date(freeze.at).toISOString()} by ${freeze.actor}: ${freeze.reason}`]] : []
}

/** A runner, and each process of it. */
function linesFromRunner(runner: RunnerView, format: Format): [string, string][] {
  const { name, kind, url, available, outstandingTokens, processes } = runner
  const wide = format === 'wide' ? ` ${url} outstanding ${outstandingTokens} tokens` : ''
  return [
    ['runner', `${name} ${kind} ${available ? 'available' : 'ejected'}${wide}`],
    ...processes.map((process): [string, string] => ['process', `${name} ${wordsFromProcess(process, format)}`]),
  ]
}

function wordsFromProcess(process: RunnerProcessView, format: Format): string {
  const { address, reachable, why, boot, runner, placement, engine, state, underWay } = process
  if (!reachable) return `${address} not reached${why === undefined ? '' : `: ${why}`}`
  const wide = format === 'wide' ? `, ${runner}, boot ${boot}, ${underWay} under way` : ''
  return `${address} reached, ${placement} ${engine}, state ${state}${wide}`
}
