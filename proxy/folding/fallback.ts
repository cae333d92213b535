import { type ErrorCode, GatewayError } from '../../plugins/errors.ts'
import { type FallbackReason, isEvidence } from '../../plugins/execution-context-fallback.ts'

/**
 * What folded layers could not do for one call, before its first token: the gateway seats them and serves the call itself. Should nobody
 * take them back, it is answered as the error it is.
 */
export class Fallback extends GatewayError {
  readonly reason: FallbackReason
  /** The layers at fault; none: every layer that was to act. */
  readonly layers: readonly string[]
  /** In what way an acknowledgement was not what was asked for. */
  readonly mismatch: { readonly kind: string; readonly layer?: string | undefined } | undefined
  constructor(
    reason: FallbackReason,
    words: string,
    layers: readonly string[] = [],
    mismatch?: { readonly kind: string; readonly layer?: string | undefined },
  ) {
    super(codeOf(reason), words)
    this.name = 'Fallback'
    this.reason = reason
    this.layers = layers
    this.mismatch = mismatch
  }
  /** Whether it counts against the runner. */
  get evidence(): boolean {
    return isEvidence(this.reason)
  }
}

function codeOf(reason: FallbackReason): ErrorCode {
  if (reason === 'runner-timeout') return 'runner_timeout'
  return reason === 'no-capacity' || reason === 'circuit-open' ? 'no_capacity' : 'runner_protocol'
}

/** The fallback reason for a failure of the runner that a plain call might not meet; undefined where it would meet it just as well. */
export function fallbackFromError(error: GatewayError): Fallback | undefined {
  if (error instanceof Fallback) return error
  if (error.code === 'runner_timeout') return new Fallback('runner-timeout', error.message)
  if (['runner_error', 'runner_protocol', 'runner_credential'].includes(error.code))
    return new Fallback('runner-error', error.message)
  return undefined
}
