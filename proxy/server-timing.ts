import { serializeItem } from 'structured-headers'
import type { CallRecord } from './call-record.ts'

/**
 * `Server-Timing` of a call: how long each layer took to decide here and, as `runner.<layer>`, at the runner by its acknowledgement, in
 * milliseconds; and the digest of the policy that was executed.
 */
export function serverTiming({ layers, fold }: Pick<CallRecord, 'layers' | 'fold'>): string {
  const here = layers.map(({ name, decideMs }) => `${name};dur=${decideMs.toFixed(3)}`)
  const said = fold?.said?.acknowledgement
  if (!said) return here.join(', ')
  const there = Object.entries(said.layers).flatMap(([name, { d }]) =>
    d === undefined ? [] : [`runner.${name};dur=${(d / 1_000).toFixed(3)}`],
  )
  const policy = said.runner.pol === undefined ? [] : [`policy;desc=${serializeItem(said.runner.pol, new Map())}`]
  return [...here, ...there, ...policy].join(', ')
}
