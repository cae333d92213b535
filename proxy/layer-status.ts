/** How `headers.layerStatus` wants it said: RFC 9651 dictionary, the one least advanced state, or in plain words. */
export type StatusForm = 'dictionary' | 'summary' | 'plain'

/** What the status header says of one layer. */
export interface LayerState {
  readonly name: string
  /** It was asked about this call. */
  readonly reached: boolean
  /** It held the whole answer back to judge it. */
  readonly buffered?: boolean
}

/**
 * The value of the `layer-status` header. A layer that is off, does not apply to the route or was not reached is bypassed; one that
 * was asked ran here.
 */
export function layerStatus(states: readonly LayerState[], form: StatusForm): string {
  if (form === 'summary') return states.some(({ reached }) => reached) ? 'active' : 'evaporation-bypassed'
  return states.map((state) => (form === 'plain' ? plain(state) : member(state))).join(', ')
}

function member({ name, reached, buffered }: LayerState): string {
  if (!reached) return `${name}=evaporation-bypassed;by=none`
  return `${name}=active;by=gateway${buffered ? ';buffered' : ''}`
}

function plain({ name, reached }: LayerState): string {
  return `${name}=${reached ? 'gateway' : 'bypassed'}`
}
