import { gatewayError } from '../../plugins/errors.ts'

/** Holds the keys of one run to one hash tag, as Redis Cluster needs it, whatever the store is. Throws `internal`. */
export function checkOneSlot(keys: readonly string[]): void {
  if (keys.length < 2) return
  const tag = hashTag(keys[0] ?? '')
  if (tag === undefined || keys.some((key) => hashTag(key) !== tag)) {
    throw gatewayError('internal', 'the keys of one script run do not share a hash tag')
  }
}

/** The part of a key between its first `{` and the next `}`, if there is anything in it (Redis Cluster specification, hash tags). */
export function hashTag(key: string): string | undefined {
  const open = key.indexOf('{')
  const close = open === -1 ? -1 : key.indexOf('}', open + 1)
  return close > open + 1 ? key.slice(open + 1, close) : undefined
}
