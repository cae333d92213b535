/** Where a service of the chain finds what it needs. Travels as JSON in its one argument. */
export interface ChainPlaces {
  /** The next service, or the engine: `http://127.0.0.1:<port>`. */
  readonly next: string
  readonly redis: string
  /** The key set that callers' tokens are verified with. */
  readonly jwks: string
  readonly issuer: string
  readonly audience: string
  /** What a tenant may use of model tokens in a minute. */
  readonly tokensPerMinute: number
  /** `each`: every service parses and serialises what passes, once each way. `needed`: only what it reads or changes. */
  readonly bodies: 'each' | 'needed'
}

/** The places that this process was started with. Throws a `SyntaxError` when it was started without. */
export function placesOfProcess(): ChainPlaces {
  return JSON.parse(process.argv[2] ?? '') as ChainPlaces
}
