import type { IncomingHttpHeaders } from 'node:http'
import { type DeprecatedAsk, deprecatedAskFrom, sheddingSeat } from './deprecated-layers.ts'
import { type Overheard, overhear } from './overheard.ts'
import type { PressureGauge } from './pressure.ts'
import type { Rooms } from './rooms.ts'
import type { Setup } from './setup.ts'
import type { Visit } from './visit.ts'

/** A call whose caller asks for more than others get. Whether it has the right is known once auth has spoken. */
export interface Privileged {
  readonly overheard: Overheard
  /** It asks for old per-layer headers. */
  readonly deprecated: DeprecatedAsk | undefined
  /** The caller's scopes hold this one; false for null, which nobody has. */
  has(scope: string | null): boolean
}

/** Listens to the layers of a call that asks for detail or for old headers; undefined for any other, which costs nothing. */
export function beginPrivileged(
  setup: Setup,
  headers: IncomingHttpHeaders,
  gauge: PressureGauge,
): { readonly setup: Setup; readonly privileged: Privileged } | undefined {
  const { config, names, host, board } = setup
  const deprecated = deprecatedAskFrom(headers, setup, host.clock.now())
  const debugs = config.access.debugScope !== null && headers[names.debug] !== undefined
  if (!deprecated && !debugs) return undefined
  const has = (scope: string | null): boolean =>
    scope !== null && (heard.overheard.principal?.scopes.includes(scope) ?? false)
  const mayHave = (): boolean => has(config.access.deprecatedScope)
  const seat = deprecated && sheddingSeat(deprecated, () => gauge.level(board), mayHave)
  const heard = overhear(setup, seat ? [seat] : [])
  return { setup: heard.setup, privileged: { overheard: heard.overheard, deprecated, has } }
}

/** Writes down who asked for old headers and had the right to. Says in the log when somebody does so later than is good. */
export function noteConsumer({ consumers, log }: Pick<Rooms, 'consumers' | 'log'>, visit: Visit): void {
  const { privileged, setup, caller, record } = visit
  const principal = privileged?.overheard.principal
  const asked = privileged?.deprecated
  if (!asked || !principal || !privileged.has(setup.config.access.deprecatedScope)) return
  const { tier, daysLeft } = asked.sunset
  const news = consumers.note({
    tenant: principal.tenant,
    client: principal.id,
    userAgent: caller.request.headers['user-agent'],
    headers: asked.names,
    tier,
    shed: asked.shed,
    at: record.startedAt,
  })
  if (news && tier !== 'current' && tier !== 'normal')
    log.warn(
      { tenant: principal.tenant, client: principal.id, headers: asked.names, tier, daysLeft },
      'old headers asked for',
    )
}
