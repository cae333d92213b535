import type { Dashboard } from '@grafana/grafana-foundation-sdk/dashboard'
import { fiveDimensions } from './five-dimensions.ts'
import { foldRollout } from './fold-rollout.ts'
import { gatewayInternals } from './gateway-internals.ts'
import { onCall } from './on-call.ts'
import { runnerSideBySide } from './runner-side-by-side.ts'

/** Every dashboard, by the name of its file. */
export const dashboards: Readonly<Record<string, Dashboard>> = {
  'on-call': onCall,
  'fold-rollout': foldRollout,
  'five-dimensions': fiveDimensions,
  'gateway-internals': gatewayInternals,
  'runner-side-by-side': runnerSideBySide,
}
