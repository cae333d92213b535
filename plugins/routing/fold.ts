import type { FoldSource } from '../host.ts'
import type { RoutingConfig } from './config.ts'
import type { RoutingStep } from './step.ts'

/** Why these targets can never be told apart inside one runner, in words; undefined when they can. */
export function stays({ targets }: Pick<RoutingConfig, 'targets'>): string | undefined {
  const [first, other] = new Set(targets.map(({ runner }) => runner))
  if (other === undefined) return undefined
  return `its targets are on the runners "${first}" and "${other}"; routing folds only when all are models of one runner`
}

/** The rule for the runner, as data. Pure. */
export function fold(
  config: RoutingConfig,
  { conversationHeader }: Pick<FoldSource, 'conversationHeader'>,
): RoutingStep {
  return { ...config, conversationHeader }
}
