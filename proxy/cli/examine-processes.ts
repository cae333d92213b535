import type { FallbackReason } from '../../plugins/execution-context-fallback.ts'
import type { LayerProcessView, LayerView } from '../admin/layer-view.ts'
import type { StatusView } from '../admin/operations.ts'
import type { RunnerProcessView } from '../admin/runner-view.ts'
import { broken, doubtful, type Finding, fine } from './finding.ts'

/** What a gateway knows of the runner processes that execute layers: reached or not, and which layers cannot act there and why. */
export function processFindings({ runners, layers }: Pick<StatusView, 'runners' | 'layers'>): Finding[] {
  return runners.flatMap(({ name, processes }) =>
    processes.flatMap((process) => [
      reachFinding(name, process),
      ...(process.reachable ? unableFindings(name, process, layers) : []),
    ]),
  )
}

function checkOf(runner: string, address: string): string {
  return `process ${address} of runner ${runner}`
}

function reachFinding(
  runner: string,
  { address, reachable, why, runner: software, layers }: RunnerProcessView,
): Finding {
  const check = checkOf(runner, address)
  if (!reachable)
    return broken(check, `was not reached by the gateway: ${why ?? 'not tried yet'}`, 'start it, or correct its url')
  const executes = Object.entries(layers ?? {}).map(([name, version]) => `${name} v${version}`)
  return fine(check, `is ${software ?? 'reached'} and executes ${executes.join(', ') || 'no layer'}`)
}

/** One finding a reason, with the layers that it keeps away: most reasons are the same for all of them. */
function unableFindings(runner: string, { address }: RunnerProcessView, layers: readonly LayerView[]): Finding[] {
  const found = new Map<string, { names: string[]; out: boolean; reason: FallbackReason | undefined }>()
  for (const { name, stage, processes } of layers) {
    const here = processes.find((each) => each.runner === runner && each.address === address)
    if (!here || here.able) continue
    const why = wordsOf(here, name)
    const entry = found.get(why) ?? { names: [], out: false, reason: here.reason }
    entry.names.push(name)
    entry.out ||= stage !== 'gateway' && stage !== 'rolled-back'
    found.set(why, entry)
  }
  return [...found].map(([why, { names, out, reason }]) => {
    const note = `cannot act there: ${names.join(', ')}: ${why}`
    const make = out ? broken : doubtful
    return make(checkOf(runner, address), note, nextFor(reason))
  })
}

function wordsOf({ why, reason }: LayerProcessView, name: string): string {
  return (why ?? reason ?? 'no reason is known').replaceAll(`of ${name}`, 'of it')
}

const nexts: Readonly<Partial<Record<FallbackReason, string>>> = {
  signature: 'give the runner the signing key (foldgate runner --key KID=FILE), or correct signing.keys',
  expired: 'the clocks differ: let both machines take their time from the same source (NTP)',
  audience: 'name each process by itself, as a headless service does',
  'not-acknowledged': 'set runners[].ackKeyFile to the public half of the runner’s --ack-key',
  'unsupported-version': 'run gateway and runner of versions that fit together',
  'parity-mismatch': 'the runner decides otherwise than the gateway: leave the layer in the gateway, and report it',
  'circuit-open': 'ask again in a moment',
  'runner-error': 'look at the log of the runner',
  'runner-timeout': 'look at the load of the runner',
  'policy-unknown': 'look at the log of the gateway: the policy was not taken',
}

function nextFor(reason: FallbackReason | undefined): string {
  return (
    (reason && nexts[reason]) ?? 'leave the layer in the gateway, or change its rule; foldgate explain LAYER says more'
  )
}
