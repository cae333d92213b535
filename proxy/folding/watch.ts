import type { Log } from '../../plugins/host.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { FoldingParts } from './open.ts'
import { createShadow } from './shadow/shadow.ts'

/** Tells metrics and the log what comes of runner processes and of comparing. One a process. */
export function watchFor(metrics: Metrics, log: Log): FoldingParts['watch'] {
  return {
    handshake(runner, result) {
      if (result === 'failed') log.warn({ runner }, 'the runner could not be asked what it can do; it is asked again')
    },
    registered(runner, report) {
      if (!report) metrics.compiled('failed')
      for (const [layer, { status, code, path }] of Object.entries(report?.layers ?? {})) {
        metrics.compiled(status)
        if (status === 'refused') log.warn({ runner, layer, code, path }, 'the runner refuses the rule of a layer')
      }
    },
    probeFailed(runner, layer, words) {
      log.error({ runner, layer, words }, 'a layer at the runner does not do what it says')
    },
    shadow: createShadow(metrics),
  }
}
