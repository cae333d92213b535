import type { Call } from '../../../plugins/call.ts'
import type { ChatRequest } from '../../../plugins/chat.ts'

/** Sizes of request bodies, by the upper bound in KiB; `more` is beyond the last. */
export const sizeBuckets = ['1k', '4k', '16k', '64k', '256k', 'more'] as const

/** A size of the list above. */
export type SizeBucket = (typeof sizeBuckets)[number]

/** What of a call its evidence is kept apart by, beside the tier. */
export interface Strata {
  readonly stream: boolean
  /** It brings tools. */
  readonly tools: boolean
  /** It asks for JSON. */
  readonly json: boolean
  readonly size: SizeBucket
  /** It was answered by a cache. */
  readonly cacheHit: boolean
}

/** The size bucket of a body of so many bytes. */
export function sizeBucket(bytes: number): SizeBucket {
  const at = sizeBuckets.findIndex((name) => name === 'more' || bytes <= Number.parseInt(name, 10) * 1024)
  return sizeBuckets[at] ?? 'more'
}

/** The strata of a call. A body that nobody could read is neither streamed nor anything else. */
export function strataFromCall(call: Call, { cacheHit }: Pick<Strata, 'cacheHit'>): Strata {
  const { stream, tools, response_format: format } = requestOf(call) ?? {}
  return {
    stream: stream === true,
    tools: Array.isArray(tools) && tools.length > 0,
    json: format?.type === 'json_object' || format?.type === 'json_schema',
    size: sizeBucket(call.body.length),
    cacheHit,
  }
}

function requestOf(call: Call): ChatRequest | undefined {
  try {
    return call.request
  } catch {
    return undefined
  }
}

/** Strata as a key of a map, such as `stream,json,4k`. */
export function strataKey({ stream, tools, json, size, cacheHit }: Strata): string {
  const flags = [stream && 'stream', tools && 'tools', json && 'json', cacheHit && 'hit']
  return [...flags.filter(Boolean), size].join(',')
}
