import { afterAll, beforeAll } from 'vitest'
import { until } from './gate.ts'
import { leakage } from './leakage.ts'

/** Kinds of resources that keep a process alive, as `process.getActiveResourcesInfo()` names them, with their counts. */
export type Resources = ReadonlyMap<string, number>

/** Kinds that come and go by themselves, in the runtime and the test runner. */
const FLEETING = new Set([
  'Immediate',
  'TickObject',
  'FSReqCallback',
  'FSReqPromise',
  'GetAddrInfoReqWrap',
  'WriteWrap',
])

/** What keeps this process alive now. */
export function activeResources(): Resources {
  const counts = new Map<string, number>()
  for (const kind of process.getActiveResourcesInfo()) {
    if (!FLEETING.has(kind)) counts.set(kind, (counts.get(kind) ?? 0) + 1)
  }
  return counts
}

/** Kinds of which there are more than there were, such as `2 TCPSocketWrap`. */
export function leftSince(before: Resources): readonly string[] {
  return [...activeResources()].flatMap(([kind, count]) => {
    const more = count - (before.get(kind) ?? 0)
    return more > 0 ? [`${more} ${kind}`] : []
  })
}

/** Resolves when nothing is left that was not there before; throws with the list when that is not so after `waitMs`. */
export async function nothingLeft(before: Resources, waitMs = 2_000): Promise<void> {
  await until(
    () => leftSince(before).length === 0,
    () => `these end: ${leftSince(before).join(', ')}`,
    waitMs,
  )
}

/**
 * Call at the top of a test file: the file fails when sockets, servers, processes or timers that began in it are left
 * when it is over, or when an upstream had to cut off an answer that nobody waited for any more.
 */
export function failOnLeaks(): void {
  let before: Resources = new Map()
  beforeAll(() => {
    leakage.take()
    before = activeResources()
  })
  afterAll(async () => {
    await nothingLeft(before)
    const noted = leakage.take()
    if (noted.length > 0) throw new Error(`left behind: ${noted.join('; ')}`)
  })
}
