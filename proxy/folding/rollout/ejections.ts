/** Places that were taken out of a rollout's canary (`canary.md` §3.6): a bad one among good ones, so that the layer itself goes on. */
export interface Ejections {
  /** Takes places out, as `gateway NAME` or `runner NAME`. They stay out for the rest of the rollout. */
  put(rollout: string, places: readonly string[]): void
  /** Whether this gateway, or this runner, is out of the canary of a rollout. */
  has(rollout: string, runner: string): boolean
}

const mostRollouts = 8

/** Makes the {@link Ejections} of one replica of the gateway; of more than eight rollouts the oldest is forgotten. */
export function createEjections(replica: string): Ejections {
  const rollouts = new Map<string, Set<string>>()
  return {
    put(rollout, places) {
      if (places.length === 0) return
      const out = rollouts.get(rollout) ?? new Set()
      for (const place of places) out.add(place)
      rollouts.set(rollout, out)
      const [oldest] = rollouts.keys()
      if (rollouts.size > mostRollouts && oldest !== undefined) rollouts.delete(oldest)
    },
    has(rollout, runner) {
      const out = rollouts.get(rollout)
      return out !== undefined && (out.has(`gateway ${replica}`) || out.has(`runner ${runner}`))
    },
  }
}
