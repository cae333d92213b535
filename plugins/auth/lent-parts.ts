import { canonicalDigest } from '../canonical.ts'
import type { Host } from '../host.ts'
import { openParts, type Parts } from './parts.ts'
import { type AuthStep, configFromStep } from './step.ts'

interface Lent {
  readonly parts: Parts
  users: number
}

// By the signal that ends what they were opened under.
const opened = new WeakMap<AbortSignal, Map<string, Lent>>()

/**
 * The parts of a step. Steps that differ in nothing but the scopes they require use the same ones, so that no caller makes key sets be
 * fetched or profiles be looked up anew by asking for scopes. Closing gives them back; the last to do so closes them. Throws
 * `config_invalid`.
 */
export function lentParts(step: AuthStep, host: Host): Parts {
  const all = opened.get(host.closed) ?? new Map<string, Lent>()
  opened.set(host.closed, all)
  const key = `${host.side}/${canonicalDigest({ ...step, required_scopes: [] })}`
  const lent = all.get(key) ?? { parts: openParts(configFromStep(step), host), users: 0 }
  all.set(key, lent)
  lent.users++
  let back = false
  return {
    ...lent.parts,
    close() {
      if (back) return
      back = true
      lent.users--
      if (lent.users > 0) return
      all.delete(key)
      lent.parts.close()
    },
  }
}
