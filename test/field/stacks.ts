/** Layers that a field fault is tried with: none, so that bytes are spliced, or one that takes streams apart. */
export interface Stack {
  readonly name: string
  readonly layers: Readonly<Record<string, unknown>>
}

/** No layers: bytes pass untouched. */
export const spliced: Stack = { name: 'no layers', layers: {} }

/** Captures answers on their way. */
export const cached: Stack = { name: 'cache', layers: { cache: { ttl_seconds: 300 } } }

/** Reads token usage; its limits are far away. */
export const metered: Stack = {
  name: 'rate-limit',
  layers: { 'rate-limit': { limits: [{ key_fields: ['client_ip'], tokens_per_minute: 1_000_000_000 }] } },
}

/** Looks into every piece of text, and changes none of it. */
export const scanned: Stack = {
  name: 'postprocess',
  layers: { postprocess: { forbidden_phrases: ['never said in any of these tests'] } },
}

/** Layers that parse streams, one at a time. */
export const parsing: readonly Stack[] = [cached, metered, scanned]

/** All of them. */
export const stacks: readonly Stack[] = [spliced, ...parsing]
