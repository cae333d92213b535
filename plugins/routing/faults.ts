import { type Fault, gatewayError } from '../errors.ts'
import type { RoutingConfig } from './config.ts'
import { weightFor } from './rule.ts'

/** Throws `config_invalid` with everything that is wrong across fields: unknown runners, targets named twice, lengths crossed, no weight. */
export function checkRouting(config: RoutingConfig, runners: readonly string[]): void {
  const faults = [...targetFaults(config, runners), ...weightFaults(config)]
  const [first] = faults
  if (first) throw gatewayError('config_invalid', `${first.path}: ${first.message}`, { faults, field: first.path })
}

function targetFaults(config: RoutingConfig, runners: readonly string[]): Fault[] {
  const faults: Fault[] = []
  const seen = new Map<string, number>()
  for (const [index, target] of config.targets.entries()) {
    const path = `targets[${index}]`
    if (!runners.includes(target.runner)) {
      const known = runners.length > 0 ? `; known: ${runners.join(', ')}` : ''
      faults.push({ path: `${path}.runner`, message: `runner "${target.runner}" is not configured${known}` })
    }
    const key = JSON.stringify([target.runner, target.model])
    const twin = seen.get(key)
    if (twin !== undefined) faults.push({ path, message: `is the same runner and model as targets[${twin}]` })
    else seen.set(key, index)
    if (target.max_input_length !== null && target.max_input_length < target.min_input_length) {
      faults.push({
        path: `${path}.max_input_length`,
        message: `must be at least min_input_length (${target.min_input_length})`,
      })
    }
  }
  return faults
}

function weightFaults({ targets }: RoutingConfig): Fault[] {
  if (
    targets.every((target) => target.weight === 0 && Object.values(target.tier_weights).every((each) => each === 0))
  ) {
    return [{ path: 'targets', message: 'at least one weight must be above 0' }]
  }
  const tiers = new Set(targets.flatMap((target) => Object.keys(target.tier_weights)))
  return [...tiers]
    .filter((tier) => targets.every((target) => weightFor(target, tier) === 0))
    .map((tier) => ({ path: 'targets', message: `at least one weight must be above 0 for tier "${tier}"` }))
}
