/** Who causes a fallback: the runner, the caller, or people. Only what the runner causes is evidence against it. */
export type FallbackCause = 'runner' | 'caller' | 'people'

/** Every reason why a layer falls back to the gateway for one call, and who causes it. There are no others. */
export const fallbackCauses = {
  'runner-error': 'runner',
  'runner-timeout': 'runner',
  'not-acknowledged': 'runner',
  'parity-mismatch': 'runner',
  'no-capacity': 'runner',
  'circuit-open': 'runner',
  'unsupported-layer': 'runner',
  'unsupported-version': 'runner',
  'policy-unknown': 'runner',
  'model-unavailable': 'runner',
  signature: 'runner',
  expired: 'runner',
  audience: 'runner',
  replay: 'runner',
  'body-mismatch': 'runner',
  'context-refused': 'runner',
  deadline: 'caller',
  debug_force: 'caller',
  invalid_execution_context: 'caller',
  'directives-in-header': 'caller',
  'schema-keyword': 'caller',
  'schema-too-large': 'caller',
  'grammar-too-large': 'caller',
  'phrase-limit': 'caller',
  'context-overflow': 'caller',
  'context-too-large': 'caller',
  'operator-disabled': 'people',
} as const satisfies Record<string, FallbackCause>

/** A reason of the closed list above. */
export type FallbackReason = keyof typeof fallbackCauses

/** Whether a fallback counts as evidence against the runner. */
export function isEvidence(reason: FallbackReason): boolean {
  return fallbackCauses[reason] === 'runner'
}
