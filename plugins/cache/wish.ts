/** What a caller wants of the cache. */
export interface Wish {
  /** A stored answer may be given. */
  readonly read: boolean
  /** The answer may be stored. */
  readonly write: boolean
  /** No model is to be asked. */
  readonly onlyIfCached: boolean
  /** How old a stored answer may be, in milliseconds. */
  readonly maxAgeMs: number
}

const anything: Wish = { read: true, write: true, onlyIfCached: false, maxAgeMs: Number.POSITIVE_INFINITY }

/**
 * A caller's wish by `cache-control` (RFC 9111 §5.2.1: `no-store`, `no-cache`, `max-age`, `only-if-cached`) and by the hint header
 * (`refresh`: ask anew and store; `bypass`: neither; `only-if-cached`). Of several the strictest holds; what is unknown is ignored.
 */
export function wishFromHeaders(headers: Readonly<Record<string, string>>, hintHeader: string): Wish {
  const control = headers['cache-control']
  const hint = headers[hintHeader]
  if (control === undefined && hint === undefined) return anything
  const said = [...words(control), ...words(hint)]
  const says = (name: string): boolean => said.includes(name)
  const maxAgeMs = Math.min(...said.map(ageFromWord))
  const bypass = says('no-store') || says('bypass')
  return {
    read: !bypass && !says('no-cache') && !says('refresh') && maxAgeMs > 0,
    write: !bypass,
    onlyIfCached: says('only-if-cached'),
    maxAgeMs,
  }
}

function words(value: string | undefined): string[] {
  return value ? value.split(',').map((word) => word.trim().toLowerCase()) : []
}

function ageFromWord(word: string): number {
  const seconds = /^max-age="?(\d{1,10})"?$/.exec(word)?.[1]
  return seconds === undefined ? Number.POSITIVE_INFINITY : Number(seconds) * 1000
}
