import type { RunnerProcessView, RunnerView } from './admin/runner-view.ts'
import type { Instance } from './folding/processes/instance.ts'
import type { Line } from './line.ts'
import type { Setup } from './setup.ts'

/** Every runner of a configuration as the gateway sees it now. */
export function runnerViews({ config, board, folding }: Setup): RunnerView[] {
  return config.runners.map(({ name, kind, url }) => {
    const { available, outstandingTokens } = board.state(name)
    const processes = (folding.instances?.of(name) ?? []).map(processView)
    return { name, kind, url: withoutUserInfo(url), available, outstandingTokens, processes }
  })
}

/** Host and port of the process at the other end of a line; an IPv6 address in brackets. */
export function addressOf({ peer, address, port }: Pick<Line, 'peer' | 'address' | 'port'>): string {
  const host = peer ?? address
  return `${host.includes(':') && !host.startsWith('[') ? `[${host}]` : host}:${port}`
}

function processView(instance: Instance): RunnerProcessView {
  const { line, reachable, capabilities, underWay } = instance
  const known = capabilities && {
    boot: capabilities.boot,
    runner: capabilities.runner,
    placement: capabilities.placement,
    engine: `${capabilities.engine.name} ${capabilities.engine.version}`,
    state: capabilities.state,
    layers: Object.fromEntries(Object.entries(capabilities.layers).map(([name, { version }]) => [name, version])),
  }
  // Whatever the layer: what is said first is why none can act there.
  const why = reachable ? undefined : instance.whyNot('', '')?.words
  return { address: addressOf(line), reachable, ...(why === undefined ? {} : { why }), ...known, underWay }
}

function withoutUserInfo(url: string): string {
  const { protocol, host, pathname } = new URL(url)
  return `${protocol}//${host}${pathname === '/' ? '' : pathname}`
}
