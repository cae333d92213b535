import type { IncomingHttpHeaders } from 'node:http'
import { gatewayError } from '../plugins/errors.ts'
import { pass, refuse } from '../plugins/verdict.ts'
import { type DeprecatedName, deprecatedNames, deprecatedValue, type ValueSources } from './deprecated-values.ts'
import type { FoldSeat } from './folding/seats.ts'
import type { Pressure } from './pressure.ts'
import type { Setup } from './setup.ts'
import { type Sunset, sunsetAt, sunsetHeaders } from './sunset.ts'

/** A request for old per-layer headers. Whether its caller has the right to them is known only once auth has spoken. */
export interface DeprecatedAsk {
  /** Those it names, of the closed list, in its order. */
  readonly names: readonly DeprecatedName[]
  readonly sunset: Sunset
  /** The call was turned away because it asked for them. */
  shed: boolean
}

/** The old headers that a request names; undefined where it names none, or nobody may have them. */
export function deprecatedAskFrom(
  headers: IncomingHttpHeaders,
  { config, names }: Pick<Setup, 'config' | 'names'>,
  now: number,
): DeprecatedAsk | undefined {
  const asked = headers[names.deprecatedLayers]
  if (asked === undefined || config.access.deprecatedScope === null) return undefined
  const wanted = String(asked)
    .split(',', maxNames)
    .map((name) => name.trim().toLowerCase())
  const known = [...new Set(wanted)].filter(isDeprecatedName)
  const sunset = sunsetAt(config.compatibility.deprecatedLayers, now)
  return known.length > 0 ? { names: known, sunset, shed: false } : undefined
}

const maxNames = 32
const isDeprecatedName = (name: string): name is DeprecatedName => (deprecatedNames as readonly string[]).includes(name)

/**
 * The answer's part for a caller with the right: the old headers, and from the day on which they are on their way out, that they are. Past
 * the last day only that they are gone.
 */
export function deprecatedHeaders(
  { names: asked, sunset, shed }: DeprecatedAsk,
  sources: ValueSources,
  { prefix, deprecatedLayers }: Setup['names'],
): Record<string, string> {
  const headers: Record<string, string> = sunsetHeaders(sunset)
  if (sunset.tier === 'gone') return { ...headers, [deprecatedLayers]: 'gone;reason=sunset-passed' }
  for (const name of asked) {
    const value = deprecatedValue(name, sources)
    if (value !== undefined) headers[prefix + name] = value
  }
  if (sunset.tier !== 'current')
    headers[deprecatedLayers] = `${shed ? 'shed' : sunset.tier};days-left=${sunset.daysLeft}`
  return headers
}

/** When a shed caller may come again, in milliseconds. */
const shedRetryMs = 2_000

/**
 * The seat behind auth that turns a call away while the gateway is short of room: in the second third of the sunset before calls that ask
 * for no old headers, in the last third first of all. Undefined in a tier that is treated like any other.
 */
export function sheddingSeat(
  ask: DeprecatedAsk,
  pressure: () => Pressure,
  mayHave: () => boolean,
): FoldSeat | undefined {
  const { tier, daysLeft } = ask.sunset
  if (tier !== 'warned' && tier !== 'last') return undefined
  const sheds = (now: Pressure): boolean => now === 'high' || (tier === 'last' && now === 'raised')
  const decide = () => {
    if (!mayHave() || !sheds(pressure())) return pass()
    ask.shed = true
    const words = `busy; calls that ask for deprecated headers are turned away first (${daysLeft} days left)`
    return refuse(gatewayError('no_capacity', words, { retryAfterMs: shedRetryMs }))
  }
  return { name: 'deprecated-layers', stage: 'gateway', mode: 'enforce', acting: { decide } }
}
