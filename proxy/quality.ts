import type { GatewayConfig } from '../config/schema.ts'
import { createScore } from '../plugins/cache/scoring.ts'
import type { OutputValidation } from '../plugins/cache/validation.ts'
import type { Call } from '../plugins/call.ts'
import type { Chunk } from '../plugins/chat.ts'
import { completionFromChunks } from '../plugins/chunks.ts'
import type { Host } from '../plugins/host.ts'

/** Has a sample of the answers of a rollout scored, by the scorer that the cache is configured with. */
export interface Quality {
  /** Has an answer scored, in the background, if there is room; `heard` whether it is below the score that is kept. Never throws. */
  judge(call: Call, chunks: readonly Chunk[], heard: (poor: boolean) => void): void
}

/** Between two answers that are scored, in milliseconds. */
const everyMs = 1_000

/** Opens {@link Quality}; undefined where no scorer is configured. */
export function openQuality({ layers }: Pick<GatewayConfig, 'layers'>, host: Host): Quality | undefined {
  const section = layers['cache'] as { readonly output_validation?: OutputValidation | null } | undefined
  const asked = section?.output_validation?.quality_score
  if (!asked) return undefined
  const score = createScore(asked.scorer, host)
  let next = Number.NEGATIVE_INFINITY
  return {
    judge(call, chunks, heard) {
      const now = performance.now()
      if (now < next) return
      next = now + everyMs
      void scored(() => score(call.request, completionFromChunks(chunks))).then((found) => {
        if (found !== undefined) heard(found < asked.min)
      })
    },
  }
}

/** What cannot be put together, such as an answer of parts that do not fit, is not scored. */
async function scored(ask: () => Promise<number | undefined>): Promise<number | undefined> {
  try {
    return await ask()
  } catch {
    return undefined
  }
}
