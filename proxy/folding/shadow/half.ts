import type { Call } from '../../../plugins/call.ts'
import type { Verdict } from '../../../plugins/verdict.ts'

/** What the gateway half of a layer has said of a call. */
export interface Half {
  readonly name: string
  readonly verdict: Verdict
  /** The call as the layer saw it. */
  readonly call: Call
  /** Its verdict can rest on counters of its own side. */
  readonly counts: boolean
}
