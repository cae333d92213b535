import type { CacheActing } from '../plugins/cache/index.ts'
import { gatewayError } from '../plugins/errors.ts'
import type { Operations, PurgeOutcome } from './admin/operations.ts'
import type { Stages } from './folding/stages.ts'
import type { Setup } from './setup.ts'
import type { GatewayLog } from './telemetry/log.ts'

/** What stored answers are forgotten with. */
export interface PurgeParts {
  readonly setup: () => Setup
  readonly stages: Pick<Stages, 'of'>
  readonly log: GatewayLog
}

/** Makes the operation that forgets stored answers. A runner that keeps some hears of it with its next call. */
export function createPurge({ setup, stages, log }: PurgeParts): Operations['purgeCache'] {
  return async (scope, { actor, reason }): Promise<PurgeOutcome> => {
    const { acting, host } = setup()
    const cache = acting.get('cache') as CacheActing | undefined
    if (!cache) throw gatewayError('not_found', 'the cache is not configured')
    const purged = await cache.purge(scope)
    log.info({ by: actor.name, reason, ...scope, purged }, 'stored answers were purged')
    const { stage } = stages.of('cache')
    return {
      purged,
      replicas: host.store.kind === 'redis' ? 'all' : 'this one',
      atRunner: stage !== 'gateway' && stage !== 'rolled-back',
    }
  }
}
