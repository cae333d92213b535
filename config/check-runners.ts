import type { Check, Notes } from './check.ts'
import { closest } from './closest.ts'
import { isLoopback } from './loopback.ts'
import type { RunnerConfig } from './runners.ts'
import { valueAt } from './wording.ts'

const each: Check = {
  reads: ['runners'],
  run({ runners }, notes) {
    if (runners.length === 0) notes.fault('runners', 'is required: name at least one runner')
    const names = new Map<string, number>()
    for (const [index, runner] of runners.entries()) {
      const path = `runners[${index}]`
      const first = names.get(runner.name)
      if (first === undefined) names.set(runner.name, index)
      else notes.fault(`${path}.name`, `${runner.name} is the name of runners[${first}] already`)
      checkUrl(runner, path, notes)
      if ((runner.tls.certFile === null) !== (runner.tls.keyFile === null)) {
        notes.fault(`${path}.tls`, 'needs both certFile and keyFile, or neither')
      }
    }
  },
}

function checkUrl(runner: RunnerConfig, path: string, notes: Notes): void {
  if (!URL.canParse(runner.url)) {
    notes.fault(`${path}.url`, 'must be a URL such as http://127.0.0.1:8000')
    return
  }
  const url = new URL(runner.url)
  if (url.username || url.password) {
    notes.fault(`${path}.url`, 'must not hold a user or password; use apiKeyFile or headers')
  }
  const plain = url.protocol === 'http:' && !isLoopback(url.hostname)
  if (plain && runner.apiKeyFile !== null)
    notes.warn(`${path}.url`, 'sends the API key over plain HTTP to another host')
}

const plainKey: Check = {
  reads: ['runners', 'signing'],
  run({ runners, signing }, notes) {
    if (signing.keys.length === 0) return
    for (const [index, runner] of runners.entries()) {
      if (runner.kind !== 'native' || runner.apiKeyFile !== null) continue
      const why = 'is required: a native runner with signing keys refuses calls that bear neither context nor API key'
      notes.fault(`runners[${index}].apiKeyFile`, why)
    }
  },
}

const targets: Check = {
  reads: ['runners', 'layers.routing'],
  run({ runners, layers }, notes) {
    const names = runners.map((runner) => runner.name)
    const list = valueAt(layers, 'routing.targets')
    for (const [index, target] of (Array.isArray(list) ? list : []).entries()) {
      const named: unknown = valueAt(target, 'runner')
      if (typeof named !== 'string' || names.includes(named)) continue
      const near = closest(named, names)
      const said =
        near === undefined ? `there ${names.length === 1 ? 'is' : 'are'} ${names.join(', ')}` : `did you mean ${near}?`
      notes.fault(`layers.routing.targets[${index}].runner`, `names no runner; ${said}`)
    }
  },
}

/** Checks of the runners and of what names them. */
export const runnerChecks: readonly Check[] = [each, plainKey, targets]
