import { GatewayError } from '../../plugins/errors.ts'
import type { Consumer, ConsumersView } from '../consumers.ts'
import type { AdminClient } from './admin-client.ts'
import { doubtful, type Finding, fine } from './finding.ts'
import { ageFromInstant } from './output.ts'

/** Consumers that are named; the admin port lists all. */
const mostNamed = 5

/** Who still asks for old headers, by one admin port. A gateway that cannot tell is no fault. */
export async function examineConsumers(admin: AdminClient): Promise<Finding[]> {
  const check = `old headers at ${admin.url}`
  try {
    const { consumers } = await admin.get<ConsumersView>('/-/consumers')
    if (consumers.length === 0) return [fine(check, 'nobody has asked for them since it started')]
    const named = consumers.slice(0, mostNamed).map((consumer) => doubtful(check, wordsOf(consumer), nextFor(consumer)))
    const more = consumers.length - named.length
    return more > 0
      ? [...named, doubtful(check, `and ${more} more ask for them`, 'GET /-/consumers lists them all')]
      : named
  } catch (reason) {
    if (reason instanceof GatewayError && reason.code === 'not_found') return []
    throw reason
  }
}

function wordsOf({ tenant, client, agent, headers, count, lastSeen, shed, tier }: Consumer): string {
  const turnedAway = shed > 0 ? `, ${shed} of them turned away` : ''
  const age = ageFromInstant(lastSeen, Date.now())
  return `${client} of ${tenant} (${agent}) asks for ${headers.join(', ')}: ${count} calls${turnedAway}, the last ${age} ago (${tier})`
}

function nextFor({ tier }: Consumer): string {
  if (tier === 'gone') return 'they are gone: it gets none of them any more; layer-status and Cache-Status say the same'
  return 'let it read layer-status, Cache-Status and the rate-limit headers instead'
}
